"""The evaluation of the paper, and more: every figure, and every claim about it, from runs made here.

An experiment (`experiment`) says which *cells* it needs: pieces of work that depend on nothing but what they are made of (`cell`). They run on all
cores, once each, whoever needs them (`work`), and what came of them is kept in files (`store`), so that a run which was cut off goes on. From its
cells' results an experiment makes its findings (`findings`): a figure, the rows behind it, and each claim with what was measured.
"""
