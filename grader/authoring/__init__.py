"""What an author gets from a solution: the stub, the notebook, the answers; and a new assignment to begin with."""
