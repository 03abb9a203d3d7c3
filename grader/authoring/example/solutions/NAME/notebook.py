# Source of assignments/NAME/notebook.ipynb, which `build` makes.
# It must call the function of every question, as `submitted.FUNCTION(...)`. If you want no notebook, delete both files.

# %% title [markdown]
# # TITLE
#
# Write your code in **`submitted.py`**, save it, and run the cell again: the saved file is loaded again, without a restart of
# the kernel. `%grade` in a cell grades it. So does `python grade.py --watch` in a terminal, at every save.

# %% setup
# %load_ext grader

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
