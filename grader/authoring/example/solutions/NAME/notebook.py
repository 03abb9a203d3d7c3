# Source of assignments/NAME/notebook.ipynb, which `build` makes.
# It must call the function of every question, as `submitted.FUNCTION(...)`. If you want no notebook, delete both files.

# %% title [markdown]
# # TITLE
#
# Write your code in **`submitted.py`**, save it, and run the cell again. Keep `python grade.py --watch` running in a terminal:
# it grades every save.

# %% setup
# %load_ext autoreload
# %autoreload 2

import numpy as np

import submitted

# %% average [markdown]
# ## Moving average
#
# A curve of rewards is noisy. Its exponential moving average keeps most of the previous average and adds a little of the new
# value, $m_t = k \, m_{t-1} + (1 - k) \, x_t$. It starts with $m_1 = x_1$.

# %% average-call
rewards = np.random.default_rng(0).normal(loc=np.linspace(0, 3, 50))
averages = submitted.get_moving_average(rewards)
print("the last five rewards ", rewards[-5:].round(1))
print("the last five averages", averages[-5:].round(1))
