"""Anthropic's messages: POST /v1/messages."""

from semcache.dialects.anthropic.wire import MESSAGES as MESSAGES
from semcache.dialects.anthropic.wire import Messages as Messages
