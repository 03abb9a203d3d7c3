"""Make an assignment: the stub, the notebook and the answers from a solution; and a new assignment to start from."""
