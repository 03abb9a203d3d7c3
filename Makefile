# Each target sets up .venv first; nothing else is needed. PYTHON chooses the interpreter (3.10 to 3.13).
# torch comes first and in exactly one version: a range would let pip take a build with gigabytes of CUDA. Where pip's default
# index offers only such a build, name one with CPU builds: make setup TORCH_OPTIONS="--index-url URL".
PYTHON ?= python3
TORCH_OPTIONS ?=
NAME ?= policy_gradient
SUBMISSION ?= solutions/$(NAME)

# Where it is set, each of some hundred processes would compile the kit anew.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
RUN := $(VENV)/bin/python
# The kit's own tests and quick proofs, on all cores: a free process takes the next file or proof, and the slowest begin first.
# One common step that hangs costs PATIENCE (tests/kit) a test, so a run ends after 20 failures.
PYTEST := $(RUN) -m pytest -q -p tests.kit.spread -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder --maxfail 20

.PHONY: grade test check verify record bench setup clean

grade: $(VENV)/ready
	$(RUN) -m grader grade $(NAME) "$(SUBMISSION)"

# What passed here with the same inputs is left out (tests/kit/selection.py); on a fresh clone nothing has.
test check: $(VENV)/ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff format --check --line-length 100 solutions/*/notebook.py
	$(RUN) -m mypy
	$(PYTEST) --changed

verify: $(VENV)/ready
	$(RUN) -m grader verify
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "attack or hypothesis or sampled"
	$(PYTEST) --changed -m oracle

# Which tests passed here, for fresh clones to believe; to be committed.
record: $(VENV)/ready
	$(PYTEST) -m recorded --record

bench: $(VENV)/ready
	$(RUN) benchmarks/grading.py
	$(RUN) benchmarks/watch.py
	$(RUN) benchmarks/environment_speed.py
	$(RUN) benchmarks/policy_gradient_training.py
	$(RUN) benchmarks/continuous_ppo_training.py speed
	$(RUN) benchmarks/recurrent_a2c_training.py speed
	$(RUN) benchmarks/ddpg_training.py speed
	$(RUN) benchmarks/ppo_agent_training.py speed

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet $(TORCH_OPTIONS) $$(grep ^torch== constraints.txt)
	$(RUN) -m pip install --quiet --constraint constraints.txt ".[desk,course,cluster,dev]"
	touch $@

clean:
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
