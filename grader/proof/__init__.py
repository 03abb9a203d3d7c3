"""Prove a suite: run variants of the solution and judge the results."""
