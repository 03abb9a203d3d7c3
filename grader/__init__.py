"""The grader: a trusted judge and an untrusted sandbox. See CONTRIBUTING.md for the map."""
