"""The pure part of tamper evidence: trees, leaves, signed notes, checkpoints, seals, bundles.

No I/O here. `merkle` and `leaf` say what the tree is, `note` and `checkpoint` how its root is
signed, `seal` what makes a run complete, `state` how an event is read, `bundle` how one run is
exported for independent verification. The formats are described for other programs in
docs/reference/evidence-format.md.
"""
