"""What goes in and out about webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from gate.happenings import EventKind
from gate.outside import MOST
from handlers.api.models import ChannelId, In


class AddWebhook(In):
    """Who is told, and of what: without channels or kinds of all that the token may see."""

    url: Annotated[
        str, Field(min_length=1, max_length=MOST, description="https, port 443, on the open internet")
    ]
    channels: Annotated[list[ChannelId], Field(max_length=20)] = Field(
        default_factory=list, description="only of these channels"
    )
    kinds: Annotated[list[EventKind], Field(max_length=20)] = Field(
        default_factory=list, description="only events of these kinds"
    )


class Webhook(BaseModel):
    """A webhook, with what came of its last delivery."""

    id: str
    url: str
    channels: list[str]
    kinds: list[str]
    token_id: str | None = Field(
        description="that it was made with, and ends with; null for the operator's own"
    )
    created_at: datetime
    state: Literal["ok", "failing", "disabled", "token_over"]
    problem: str
    secret: str | None = Field(default=None, description="by it the receiver knows us; said once")


class WebhookList(BaseModel):
    webhooks: list[Webhook]
