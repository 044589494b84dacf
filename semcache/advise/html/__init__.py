"""The report as one page: no script, nothing from outside, no words of the log unless asked for."""
