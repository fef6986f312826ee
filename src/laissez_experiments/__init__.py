"""The evaluation of the paper, and more: every figure, and every claim about it, from runs made
here.

Each experiment is a module or a package here, named in `catalogue`. It says which *cells* it needs:
pieces of work that depend on nothing but what they are made of. They run on all cores, once each,
whoever needs them, and what came of them is kept in files, so that a run which was cut off goes on.
From its cells' results an experiment makes its findings: a figure, the rows behind it, and each
claim with what was measured. What experiments share is in `lab`; `reproduce` runs them, and
`report` makes one page of what they found.
"""
