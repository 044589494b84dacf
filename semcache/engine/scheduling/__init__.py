"""Which tokens go through the network next: queue, admission, passes, and the thread that turns them.

The way of a request: `queue` -> `admission` -> (`planning` -> `passes` -> `settling`) once a step
-> its last event. `roster` keeps who runs and who was preempted, `pool` the slots and the tree.
"""
