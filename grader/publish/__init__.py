"""What is made from solutions/: the stub and the answers, and the proof that a suite does its work."""
