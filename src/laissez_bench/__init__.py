"""Every figure we quote about speed, measured here and nowhere else.

Here belong loads, measurements and their tables; not the code they measure. Machines are noisy:
what is compared is measured in one run, and compared as a ratio.
"""
