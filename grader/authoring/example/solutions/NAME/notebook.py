# Source of assignments/NAME/notebook.ipynb: `build` makes that from this. Every question's
# function must be called in it, as `submitted.FUNCTION(...)`. For an assignment without a notebook, delete both files.

# %% title [markdown]
# # TITLE
#
# Write into **`submitted.py`**, save, and run the cell again. `python grade.py --watch` in a terminal beside this notebook
# grades every save.

# %% setup
# %load_ext autoreload
# %autoreload 2

import numpy as np

import submitted

# %% average [markdown]
# ## Moving average
#
# A curve of rewards is noisy. Its exponential moving average keeps most of the average before and adds a little of the new
# value, $m_t = k \, m_{t-1} + (1 - k) \, x_t$, beginning with $m_1 = x_1$.

# %% average-call
rewards = np.random.default_rng(0).normal(loc=np.linspace(0, 3, 50))
averages = submitted.get_moving_average(rewards)
print("the last five rewards ", rewards[-5:].round(1))
print("the last five averages", averages[-5:].round(1))
