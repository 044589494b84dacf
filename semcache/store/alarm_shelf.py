"""Which alarms are raised, in Redis: one hash and one list a tenant, and what the last leader knew.

    {<tenant>}:alr      hash: kind and subject -> the alarm, of those that are raised
    {<tenant>}:all      list of the last changes, newest first
    {!}:alarm-known     hash: tenant -> JSON of the last leader
    {!}:alarm-tenants   set of tenants that have had an alarm
    {!}:alarm-lead      who looks at present

Bounded by number and by time. Knows no conditions.
"""
