"""Arguments that plainly say a change make a tool ask that says it only reads; filters and options of reads do not."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import pytest

from bot.policy_file import load_policy
from gate.arguments.change_arguments import says_change
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.policy import decide
from gate.rules.tool import Hints, ToolSpec
from tests.cpu_time import seconds
from tools.mcp.schema import problems

SHIPPED = load_policy(Path(__file__).parents[3] / "manifests" / "policy.yaml")
READ_ONLY = Hints(read_only=True, open_world=False)
ADDRESS = "https://api.example.com/users/5"
Call = tuple[str, Json]

REQUESTS: list[Call] = [
    *(
        (name, {place: "/users/5", method: "DELETE"})
        for name in ("get_api", "fetch_api", "http_get", "read_rest", "get_endpoint", "get_item")
        for place in ("path", "endpoint")
        for method in ("method", "http_method", "httpMethod", "requestMethod", "verb")
    ),
    ("get_api", {"path": "users/5", "method": " patch "}),
    ("get_api", {"path": "/users", "json": {"name": "x"}}),
    ("get_resource", {"id": "5", "method": "PUT"}),
    ("fetch_url", {"url": "api.example.com/users/5", "method": "DELETE"}),
    ("fetch_url", {"url": "api.example.com/users", "body": "name=x"}),
    ("fetch_url", {"url": ADDRESS, "action": "post"}),
    ("fetch_url", {"url": ADDRESS, "operation": "DELETE"}),
    ("fetch_url", {"url": ADDRESS, "request": "DELETE"}),
    ("fetch_url", {"url": ADDRESS, "type": "DELETE"}),
    ("fetch_url", {"url": ADDRESS, "params": {"_method": "delete"}}),
    ("fetch_url", {"url": "api.example.com/a", "headers": [{"name": "X-HTTP-Method", "value": "PUT"}]}),
    ("get_object", {"endpoint": ADDRESS, "http_method": "DELETE"}),
    ("list_resource", {"endpoint": ADDRESS, "http_method": "DELETE"}),
    ("list_requests", {"url": ADDRESS, "method": "DELETE"}),
    ("get_request", {"path": "/users/5", "method": "DELETE"}),
]
ACTIONS: list[Call] = [
    ("list_items", {"operation": "delete"}),
    ("list_items", {"operation": "bulk_delete", "ids": ["1"]}),
    ("list_items", {"op": "UPDATE"}),
    ("list_items", {"verb": "create"}),
    ("list_items", {"action": "items.delete"}),
    ("list_items", {"action": "deleteItem"}),
    ("list_items", {"action": "Delete all of them"}),
    ("list_items", {"action": ["view", "approve"]}),
    ("list_items", {"actions": [{"action": "approve"}]}),
    ("list_items", {"options": {"action": "approve"}}),
    ("list_items", {"options": '{"action": "approve"}'}),
    ("list_items", {"parameters": [{"name": "action", "value": "approve"}]}),
    ("list_items", {"actionType": "merge_pull_request"}),
    ("list_items", {"operation": "charge.refund"}),
    ("list_items", {"mode": "overwrite"}),
    ("get_records", {"operation": "create", "data": {"a": 1}}),
    ("get_page", {"method": "create"}),
    ("issue_read", {"method": "update", "issue_number": 1}),
    ("pull_request_read", {"method": "get_diff_and_merge"}),
    ("pull_request_read", {"method": "merge_pull_request"}),
    ("list_items", {"parameters": [{"name": "delete", "value": True, "delete": False}]}),
    ("get_permissions", {"action": "grant", "user": "U1"}),
    ("list_events", {"action": "create", "title": "Lunch"}),
    *(("get_logs", {"action": action}) for action in ("clear", "purge", "rotate", "delete", "flush")),
    ("search_logs", {"action": "clear"}),
    *(
        (name, {"action": "delete"})
        for name in ("get_history", "get_activity", "list_permissions", "list_events")
    ),
    ("get_logs", {"action": "disable"}),
    ("list_requests", {"action": "approve"}),
    ("list_pull_requests", {"action": "merge"}),
    ("list_items", {"query_options": {"action": "delete"}}),
    ("list_items", {"action": "view", "options": {"action": "create"}}),
    ("list_items", {"operation": "alter"}),
    ("list_audit_events", {"action": "purge"}),
    ("get_logs", {"action": "clear", "filter": "a"}),
    ("list_audit_events", {"action": "delete", "id": "5"}),
    ("list_audit_events", {"action": "create", "data": {"a": 1}}),
    *((name, {"action": "delete"}) for name in ("task_tracker", "analyze_code", "ask_user")),
    ("list_items", {"action": {"type": "delete", "id": 5}}),
    ("list_items", {"actions": [{"type": "delete", "id": 5}]}),
    ("list_items", {"operations": [{"type": "delete", "id": 5}]}),
    ("list_items", {"operation": {"name": "deleteItem", "args": {"id": 5}}}),
    ("list_items", {"action": {"kind": "remove"}}),
    ("list_items", {"command": '{"name": "delete", "args": [5]}'}),
    ("list_items", {"actions": [{"name": "delete", "value": 5}]}),
    ("list_items", {"method": {"name": "DELETE"}}),
    ("list_items", {"options": {"action": {"type": ["delete"]}}}),
    *(
        ("get_device", {"id": "a", "action": act})
        for act in ("turn_off", "turnOn", "power_off", "power_cycle")
    ),
    *(("get_cluster", {"name": "a", "action": act}) for act in ("failover", "scale", "rollout", "scale.up")),
    *(("get_file", {"path": "a", "operation": act}) for act in ("mv", "chmod", "touch", "symlink")),
    ("get_issue", {"id": "5", "action": "comment", "body": "Hello"}),
    ("get_issue", {"issue_number": 5, "action": "comment", "text": "Hello"}),
    ("get_issue", {"id": "5", "action": "resolve"}),
]
SWITCHES: list[Call] = [
    ("list_items", {"delete": True}),
    ("list_items", {"delete": "true"}),
    ("list_items", {"delete": 1}),
    ("list_items", {"delete": ["5"]}),
    ("list_items", {"options": {"purge": True}}),
    ("list_items", {"options": '{"purge": true}'}),
    ("list_items", {"options": [{"name": "purge", "value": True}]}),
    ("list_items", {"update": {"name": "x"}}),
    ("list_items", {"approve": True}),
    ("list_items", {"create_if_missing": True}),
    ("list_items", {"auto_create": True}),
    ("list_items", {"forceDelete": True}),
    ("list_items", {"filter": {"a": 1}, "delete_where": {"a": 1}}),
    ("get_messages", {"ack": True}),
    ("get_messages", {"mark_as_read": True}),
    ("get_messages", {"markRead": True}),
    ("get_messages", {"read_and_delete": True}),
    ("get_messages", {"delete_after_read": True}),
    ("list_notifications", {"mark_as_read": "yes"}),
    ("get_plan", {"apply": True}),
    ("get_plan", {"applyNow": True}),
    ("get_plan", {"dry_run": False}),
    ("diff_schema", {"apply": True}),
    ("get_invoice", {"pay": True}),
    ("get_token", {"rotate": True}),
    ("preview_email", {"send": True}),
    ("list_branches", {"prune": True}),
    ("list_files", {"cleanup": True}),
    ("get_report", {"save_to": "/a/b.txt"}),
    ("list_tasks", {"assign_to": "U1"}),
]
# What is read every day from well-known servers, and in ordinary words of others.
READS: list[Call] = [
    # GitHub
    ("list_issues", {"owner": "a", "repo": "b", "state": "closed", "orderBy": "UPDATED_AT", "labels": ["delete"]}),
    ("list_issues", {"state": "open", "labels": ["remove", "add"], "since": "2026-01-01"}),
    ("list_pull_requests", {"state": "all", "sort": "updated", "direction": "desc", "base": "merge"}),
    ("pull_request_read", {"method": "get_review_comments", "pullNumber": 3}),
    ("pull_request_read", {"method": "get_check_runs", "pullNumber": 3}),
    ("issue_read", {"method": "get_sub_issues", "issue_number": 3}),
    ("actions_get", {"method": "get_workflow_run", "resource_id": "7"}),
    ("actions_list", {"method": "list_workflow_runs", "workflow_runs_filter": {"event": "push"}}),
    ("get_job_logs", {"run_id": 1, "failed_only": True, "return_content": True, "tail_lines": 500}),
    ("list_notifications", {"filter": "include_read_notifications", "since": "2026-01-01"}),
    ("list_workflow_runs", {"event": "push", "status": "completed", "actor": "a"}),
    ("search_code", {"query": "delete action", "sort": "indexed", "order": "desc"}),
    ("search_repositories", {"query": "archived:true", "minimal_output": True}),
    ("get_commit", {"sha": "abc", "include_diff": True}),
    ("get_release_by_tag", {"tag": "v1.2.3"}),
    # Slack
    ("get_messages", {"unread": True, "channel": "C1"}),
    ("conversations_history", {"channel": "C1", "inclusive": True, "limit": 10}),
    ("slack_get_channel_history", {"channel_id": "C1", "limit": 10}),
    ("slack_list_channels", {"exclude_archived": True, "types": "public_channel"}),
    ("search_messages", {"query": "in:general delete", "sort": "timestamp", "highlight": True}),
    # Jira and Confluence
    ("jira_get_issue", {"issue_key": "A-1", "expand": "changelog", "fields": "*all", "update_history": True}),
    ("jira_search", {"jql": "status = Closed ORDER BY updated", "expand": "transitions"}),
    ("jira_get_transitions", {"issue_key": "A-1"}),
    ("confluence_get_page", {"page_id": "1", "convert_to_markdown": True, "include_metadata": True}),
    ("confluence_search", {"query": "move to trash", "spaces_filter": "DEV"}),
    # Notion
    ("query_data_source", {"filter": {"property": "delete", "checkbox": {"equals": True}}, "archived": False}),
    ("search_pages", {"query": "plan", "filter": {"value": "page", "property": "object"}, "in_trash": True}),
    ("retrieve_block_children", {"block_id": "b", "page_size": 100}),
    # Stripe
    ("list_payment_intents", {"customer": "cus_1", "limit": 10}),
    ("list_refunds", {"charge": "ch_1", "expand": ["data.charge"], "created": {"gte": 1}}),
    ("list_invoices", {"status": "open", "subscription": "sub_1", "collection_method": "charge_automatically"}),
    ("search_charges", {"invoice": "in_1", "transfer": "tr_1", "refund": "re_1", "expand": True}),
    ("list_events", {"type": "charge.refunded", "delivery_success": True}),
    # Kubernetes
    ("pods_list", {"namespace": "a", "labelSelector": "action=delete", "watch": True}),
    ("pods_log", {"name": "a", "previous": True, "follow": True, "tail": 50}),
    ("resources_get", {"apiVersion": "v1", "kind": "Secret", "name": "patch"}),
    ("events_list", {"namespace": "a", "reason": "Killing", "type": "Warning"}),
    # Files
    ("read_text_file", {"path": "delete.md", "head": 5}),
    ("list_directory_with_sizes", {"path": "post", "sortBy": "size"}),
    ("search_files", {"path": "/a", "pattern": "delete", "excludePatterns": ["remove", "put"]}),
    ("list_files", {"deleted": True, "recursive": True, "order": "desc"}),
    # Sentry and Grafana
    ("search_events", {"query": "http.method:DELETE transaction:/users", "dataset": "spans", "sort": "-time"}),
    ("search_issues", {"query": "is:unresolved", "naturalLanguageQuery": "errors when users delete files"}),
    ("get_issue_tag_values", {"issueId": "A-1", "tagKey": "http.method"}),
    ("query_loki_logs", {"logql": '{app="a"} |= "delete"', "direction": "backward", "limit": 5}),
    ("query_prometheus", {"expr": 'sum(rate(http_total{method="DELETE"}[5m]))', "queryType": "range"}),
    ("get_annotations", {"Tags": ["deploy", "create"], "MatchAny": True, "Type": "annotation"}),
    ("search_dashboards", {"query": "releases", "starred": True}),
    ("list_alert_rules", {"label_selectors": [{"filters": [{"name": "action", "value": "delete"}]}]}),
    # Google Drive
    ("search_files", {"q": "trashed = true", "includeItemsFromAllDrives": True, "supportsAllDrives": True}),
    ("list_changes", {"pageToken": "5", "includeRemoved": True, "restrictToMyDrive": True}),
    ("get_file", {"fileId": "a", "acknowledgeAbuse": True, "useDomainAdminAccess": True}),
    # Logs and histories, filtered by what happened
    ("list_audit_events", {"action": "delete", "actor": "a", "resource_id": "5"}),
    ("list_audit_events", {"action": ["create", "delete"]}),
    ("get_audit_logs", {"action": "delete", "user_id": "U1"}),
    ("search_logs", {"operation": "create"}),
    ("search_logs", {"method": "DELETE", "path": "/users/5", "request_id": "a"}),
    ("get_logs", {"method": "DELETE", "path": "/users/5"}),
    ("list_requests", {"method": "DELETE"}),
    ("list_requests", {"method": "DELETE", "path": "/users/5", "data": "x"}),
    ("get_activity", {"action": "update", "since": "2026-01-01"}),
    ("get_page_history", {"page_id": "1", "operation": "edit"}),
    ("find_traces", {"operation": "delete", "service": "a"}),
    ("list_webhook_events", {"action": "delete"}),
    ("list_endpoints", {"method": "POST", "path": "/users"}),
    ("get_endpoint_schema", {"method": "POST", "path": "/users"}),
    ("list_roles", {"verb": "delete", "resource": "pods"}),
    ("list_firewall_rules", {"action": "deny"}),
    ("git_log", {"author": "a", "grep": "delete", "diff_filter": "D", "follow": True}),
    ("git_diff", {"target": "main", "context_lines": 3}),
    # Databases
    ("find", {"collection": "a", "filter": {"action": "delete", "archive": True}, "projection": {"lock": True}}),
    ("search_index", {"index": "a", "body": {"query": {"term": {"operation": "delete"}}}}),
    ("count_documents", {"query": {"delete": True}}),
    ("aggregate", {"pipeline": [{"$match": {"action": "delete"}}, {"$set": {"a": 1}}, {"$unset": "b"}]}),
    # Options of reading
    ("read_file", {"format": True, "merge_cells": True, "expand": True, "clean": True, "use_cache": True}),
    ("get_page", {"render": True, "refresh_cache": True, "download": True, "convert_to_markdown": True}),
    ("get_mail", {"email": True, "order_details": True, "file": True, "open": True, "raw": True}),
    ("list_items", {"action": "view"}),
    ("list_items", {"operation": "list", "method": "bayes", "mode": "fast"}),
    ("list_items", {"operation": "order_status"}),
    ("list_items", {"delete": False, "purge": None, "apply": "false", "dry_run": True, "remove": []}),
    ("list_payments", {"method": "transfer", "payment_method": "wire", "shipping_method": "post"}),
    ("calculate", {"operation": "add", "a": 1, "b": 2}),
    ("list_items", {"actions": [{"type": "view", "name": "list"}], "item": {"type": "delete"}}),
    ("list_items", {"action": {"type": "power_status"}, "operation": {"name": "get_rollout"}}),
    ("list_audit_events", {"actions": [{"type": "delete"}]}),
    ("list_payments", {"method": {"type": "transfer"}}),
    ("list_items", {"action": "rollout_status", "operation": "comment"}),
    ("get_dns_records", {"operation": "resolve"}),
]  # fmt: skip


def verdict(name: str, args: Json, schema: Json = None, hints: Hints = READ_ONLY) -> Verdict:
    properties: Json = {one: {} for one in args} if isinstance(args, dict) else {}
    spec = ToolSpec("s", name, "", "", schema or {"properties": properties}, "d", hints=hints)
    return decide(SHIPPED, spec, args, "C1", lambda schema, value: not problems(schema, value)).verdict


def undeclared(name: str, args: Json) -> Verdict:
    return verdict(name, args, {"type": "object"})


@pytest.mark.parametrize(("name", "args"), [*REQUESTS, *ACTIONS, *SWITCHES], ids=json.dumps)
def test_an_argument_that_says_a_change_asks(name: str, args: Json) -> None:
    assert undeclared(name, args) in (Verdict.CONFIRM, Verdict.TYPED)
    assert verdict(name, args) in (Verdict.CONFIRM, Verdict.TYPED)


@pytest.mark.parametrize(("name", "args"), READS, ids=json.dumps)
def test_an_ordinary_read_runs_whatever_it_looks_for(name: str, args: Json) -> None:
    assert undeclared(name, args) is Verdict.RUN


@pytest.mark.parametrize("name", ["task_tracker", "analyze_code", "ask_user"])
def test_a_name_of_the_policy_asks_where_its_server_says_nothing_and_an_argument_says_a_change(
    name: str,
) -> None:
    assert verdict(name, {"action": "delete"}, hints=Hints()) is Verdict.CONFIRM
    assert verdict(name, {"action": "list"}, hints=Hints()) is Verdict.RUN


@pytest.mark.parametrize(
    "choices", [("list", "create", "update"), ("get", "fix"), ("view", "approve", "reject")]
)
def test_one_of_several_choices_asks_where_it_says_a_change(choices: tuple[str, ...]) -> None:
    schema: Json = {"properties": {"action": {"type": "string", "enum": [*choices]}}}
    assert verdict("list_items", {"action": choices[0]}, schema) is Verdict.RUN
    assert verdict("list_items", {"action": choices[1]}, schema) is Verdict.CONFIRM


@pytest.mark.parametrize("more", [{"enum": ["list", "create"]}, {}])
def test_in_a_log_an_action_that_is_required_or_beside_a_read_is_no_filter(more: Json) -> None:
    about: Json = {"type": "string", **(more if isinstance(more, dict) else {})}
    required: Json = [] if more else ["action"]
    schema: Json = {"properties": {"action": about}, "required": required}
    assert verdict("search_logs", {"action": "create"}, schema) is Verdict.CONFIRM


def test_an_argument_that_is_said_to_filter_is_one() -> None:
    about: Json = {"type": "string", "description": "Filter by what was done"}
    schema: Json = {"properties": {"action": about}}
    assert verdict("list_items", {"action": "create"}, schema) is Verdict.RUN
    assert verdict("list_items", {"action": "create"}, {**schema, "required": ["action"]}) is Verdict.CONFIRM
    assert verdict("list_items", {"options": {"action": "create"}}, schema) is Verdict.CONFIRM


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("mark_read", {"type": "boolean", "default": True}),
        ("action", {"type": "string", "default": "approve"}),
        ("dry_run", {"type": "boolean", "default": False}),
    ],
)
def test_what_a_tool_does_where_an_argument_is_left_out_counts_as_given(name: str, about: Json) -> None:
    schema: Json = {"properties": {name: about}}
    assert verdict("get_plan", {}, schema) is Verdict.CONFIRM
    harmless: Json = {"mark_read": False, "action": "view", "dry_run": True}[name]
    assert verdict("get_plan", {name: harmless}, schema) is Verdict.RUN


@pytest.mark.parametrize(
    "args",
    [
        {"action": [f"create {number}" for number in range(4_000)]},
        {"action": ["comment"] * 4_000, **{f"a{number}": number for number in range(1_000)}},
        {f"a{number}": number for number in range(6_000)},
        {"a": [[]] * 20_000},
        {"a": [{"name": "b", "value": 1}] * 2_500},
        reduce(lambda value, _: {"name": "a", "key": "b", "value": value}, range(60), {}),
    ],
    ids=["actions", "comments", "names", "lists", "values", "nested"],
)
def test_many_arguments_are_gone_through_once(args: Json) -> None:
    about: Json = {"action": {"description": "x" * 9_000, "enum": [f"a{n}" for n in range(5_000)]}}
    spec = ToolSpec("s", "list_audit_events", "", "", {"properties": about}, "d", hints=READ_ONLY)
    assert seconds(lambda: says_change(spec, args), tries=6, enough=0.15) < 0.15
    assert says_change(spec, args) == ""


def test_such_an_argument_makes_nothing_milder() -> None:
    spec = ToolSpec("s", "get_items", "", "", {}, "d", hints=Hints(read_only=False, destructive=True))
    found = decide(SHIPPED, spec, {"action": "create"}, "C1", lambda schema, value: True)
    assert found.cls is CallClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "text", ["aPPROVE", "dElEtE", "dELETE", " " * 200 + "delete", "ｄｅｌｅｔｅ", "DELETEitem"]
)
def test_an_act_counts_however_its_letters_are_written(text: str) -> None:
    assert verdict("get_items", {"id": "7", "action": text}) is Verdict.CONFIRM
    assert verdict("get_items", {"id": "7", "method": text}) is Verdict.CONFIRM or "item" in text


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"properties": {"approve": {"$ref": "#/$defs/O"}}, "$defs": {"O": {"default": True}}}, {}),
        ({"properties": {"approve": {"allOf": [{"anyOf": [{"type": "null"}, {"default": True}]}]}}}, {}),
        ({"allOf": [{"properties": {"approve": {"default": True}}}]}, {}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"approve": {"default": True}}}}}, {}),
        ({"properties": {"options": {"properties": {"approve": {"default": True}}}}}, {"options": {}}),
        ({"properties": {"options": {"properties": {"approve": {"default": True}}}}}, {}),
        ({"properties": {"each": {"items": {"properties": {"approve": {"default": True}}}}}}, {"each": [{}]}),
        ({"properties": {"action": {"default": "approve"}}}, {"action": None}),
        ({"properties": {"o": {"default": {}, "properties": {"action": {"default": "approve"}}}}}, {}),
    ],
)
def test_a_default_counts_wherever_the_schema_gives_it(schema: Json, args: Json) -> None:
    assert verdict("get_plan", args, schema) is Verdict.CONFIRM
    harmless = json.loads(json.dumps(schema).replace("true", "false").replace('"approve"}', '"view"}'))
    assert verdict("get_plan", args, harmless) is Verdict.RUN


def test_a_schema_that_refers_to_itself_gives_its_defaults_in_bounded_time() -> None:
    own: Json = {"properties": {f"a{n}": {"$ref": "#"} for n in range(60)}}
    spec = ToolSpec("s", "get_items", "", "", own, "d", hints=READ_ONLY)
    assert seconds(lambda: decide(SHIPPED, spec, {}, "C1", lambda schema, value: True), 6, 0.15) < 0.15
    found = decide(SHIPPED, spec, {}, "C1", lambda schema, value: True)
    assert "more than are searched" in found.reason
    few: Json = {"properties": {"filter": {"$ref": "#"}, "name": {"default": "x"}}}
    assert verdict("get_items", {"filter": {"filter": {}}}, few) is Verdict.RUN


@pytest.mark.parametrize(
    "args",
    [
        *({"path": "/a", "httpMethod": method} for method in ("MKCOL", "PROPPATCH", "LINK")),
        *({"mark_as_read": one} for one in (1, "1")),
        {"id": "7", "options": [{"Name": "delete", "Value": True}]},
        *({"id": "7", "action": text} for text in ("get " * 30 + "delete", "de\u200blete", "d\u00adelete")),
    ],
    ids=str,
)
def test_a_change_counts_in_further_spellings(args: Json) -> None:
    assert verdict("get_items", args) is Verdict.CONFIRM


@pytest.mark.parametrize(
    "args", [{"update_id": 1}, {"limit": 1}, {"httpMethod": "PROPFIND"}, {"create_time": "1"}], ids=str
)
def test_a_number_that_is_no_switch_changes_nothing(args: Json) -> None:
    assert verdict("get_items", args) is Verdict.RUN
