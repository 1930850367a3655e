"""Every route of the API."""

from __future__ import annotations

from handlers.api import (
    actions,
    event_stream,
    models,
    reviews,
    task_models,
    tasks,
    webhooks,
)
from handlers.api.route import Route

A, T = models.Action, task_models.Task
N = models.Nothing

ROUTES: tuple[Route, ...] = (
    Route(
        "POST", "/actions", "proposeAction", "Propose a call: a person is asked before it runs; a read runs at once.",
        actions.propose, models.Propose, models.Proposed, 201, error_statuses=(403,),
    ),
    Route(
        "GET", "/actions", "listActions", "What waits, or all that was asked for; newest first.",
        actions.listing, models.ListActions, models.Page,
    ),
    Route(
        "GET", "/actions/{id}", "getAction", "One action with its whole preview; as text with Accept: text/plain.",
        actions.get, N, A, text=True,
    ),
    Route(
        "POST", "/actions/{id}/confirm", "confirmAction", "Say yes to exactly the version that was seen.",
        actions.confirm, models.Confirm, A, people_only="confirm an action",
    ),
    Route(
        "POST", "/actions/{id}/cancel", "cancelAction", "Withdraw what has not started.",
        actions.cancel, models.Cancel, A, error_statuses=(403,),
    ),
    Route(
        "POST", "/actions/{id}/reject", "rejectAction", "Say no, with a reason. One ends it.",
        actions.reject, models.Reject, A, people_only="reject an action",
    ),
    Route(
        "POST", "/actions/{id}/edit", "editAction", "Other arguments: a new version, which voids every vote.",
        actions.change, models.Edit, A, people_only="edit an action: withdraw it and propose another",
    ),
    Route(
        "POST", "/actions/{id}/renew", "renewAction", "Ask again for what expired.",
        actions.renew, N, A, 202, people_only="ask again: propose it anew",
    ),
    Route(
        "POST", "/actions/{id}/settle", "settleAction", "Say whether it happened, where nobody knows.",
        actions.settle, models.Settle, A, people_only="settle an action",
    ),
    Route(
        "POST", "/actions/{id}/undo", "undoAction", "Take it back.",
        actions.request_undo, N, A, 202, people_only="undo an action",
    ),
    Route(
        "POST", "/tasks", "createTask", "Ask for something in words.",
        tasks.create, task_models.CreateTask, T, 201, error_statuses=(403,),
    ),
    Route(
        "GET", "/tasks", "listTasks", "What was asked for, newest first.",
        tasks.listing, task_models.ListTasks, task_models.TaskPage,
    ),
    Route("GET", "/tasks/{id}", "getTask", "One task with its plan.", tasks.get, N, T),
    Route(
        "PATCH", "/tasks/{id}", "instructTask", "Give an instruction, taken in before the next step.",
        tasks.instruct, task_models.Instruct, T, people_only="instruct a task",
    ),
    Route(
        "POST", "/tasks/{id}/mode", "setTaskMode", "Say who lets it go on after each step, from now on.",
        tasks.set_mode, task_models.SetMode, T, people_only="change the mode of a task",
    ),
    Route(
        "POST", "/tasks/{id}/plan", "decidePlan", "Approve, change, re-plan or cancel the plan that was seen.",
        tasks.decide_plan, task_models.DecidePlan, T, people_only="decide on a plan",
    ),
    Route(
        "POST", "/tasks/{id}/clarify", "answerQuestions", "Answer what it asks, or let it assume.",
        tasks.answers, task_models.Clarify, T, people_only="answer what a task asks",
    ),
    Route(
        "POST", "/tasks/{id}/requirements", "confirmRequirements", "Build what was talked about, or talk on.",
        tasks.requirements, task_models.Requirements, T, people_only="confirm requirements",
    ),
    Route(
        "POST", "/tasks/{id}/pause", "pauseTask", "Pause after the current step.",
        tasks.pause, N, T, error_statuses=(403,),
    ),
    Route(
        "POST", "/tasks/{id}/continue", "continueTask", "Go on with what is paused.",
        tasks.resume, task_models.GoOn, T, people_only="let a task go on",
    ),
    Route(
        "POST", "/tasks/{id}/stop", "stopTask", "Stop after the current step.",
        tasks.stop, N, T, error_statuses=(403,),
    ),
    Route(
        "POST", "/tasks/{id}/satisfaction", "settleTask", "Say whether the result was what was needed.",
        tasks.verdict, task_models.Verdict, T, people_only="say whether a result was what was needed",
    ),
    Route(
        "POST", "/tasks/{id}/undo", "undoTask", "Take back what its steps did, the last first.",
        tasks.request_undo, task_models.UndoTask, T, 202, people_only="undo a task",
    ),
    Route(
        "GET", "/pending-review", "listPendingReviews", "What is paused for review, in short.",
        reviews.listing, N, models.PendingList,
    ),
    Route(
        "GET", "/pending-review-detail/{id}", "getPendingReview", "What is under review in one execution, whole.",
        reviews.detail, N, models.Detail,
    ),
    Route(
        "POST", "/resume", "resumeExecution", "Approve, edit or reject what is paused for review.",
        reviews.resume, models.Resume, models.Resumed, people_only="decide on a review",
        error_statuses=(404,),
    ),
    Route(
        "GET", "/history", "listReviews", "Reviews as they were decided.",
        reviews.history, models.ListReviews, models.History,
    ),
    Route(
        "GET", "/audit", "listAudit", "What was done and decided, newest first.",
        tasks.audit, task_models.ListAudit, task_models.Audit,
    ),
    Route(
        "POST", "/webhooks", "addWebhook", "Tell a URL of what this token may see; its secret is said once.",
        webhooks.add, models.AddWebhook, models.Webhook, 201, one_time_field="secret",
    ),
    Route(
        "GET", "/webhooks", "listWebhooks", "The webhooks that this token may end, the oldest first.",
        webhooks.listing, N, models.WebhookList,
    ),
    Route(
        "DELETE", "/webhooks/{id}", "removeWebhook", "Tell it nothing more.",
        webhooks.remove, N, models.Webhook,
    ),
    Route(
        "POST", "/webhooks/{id}/rotate", "rotateWebhook", "A new secret; both sign until the next rotation.",
        webhooks.rotate, N, models.Webhook, one_time_field="secret",
    ),
    Route(
        "GET", "/events", "streamEvents", "Server-sent events; goes on behind Last-Event-ID.",
        event_stream.events, event_stream.Listen, stream=True,
    ),
)  # fmt: skip
