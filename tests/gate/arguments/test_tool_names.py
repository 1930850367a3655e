"""Which tools of a server that nobody reviewed run at once: harmful ones never, and most that truly read."""

from __future__ import annotations

import tracemalloc

import pytest

from gate.arguments.tool_names import ACTS, LONGEST, MOST_ARGUMENTS, only_reads, shows_change, words
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, Rule, decide, is_only_claimed
from gate.rules.tool import Hints, ToolSpec

OF_THE_REVIEW = "clear_database pay_invoice grant_admin delete_all_files".split()
HARMFUL = """
    get_rid_of getRidOfUser read_and_purge list_and_charge check_out_cart show_ad_campaign_start
    export_and_delete view_reset fetchThenWipe read.then.forget list-and-notify findAndReplace find_replace
    search_replace search_and_destroy searchDestroy get_or_create_user lookupOrInsert query_execute
    query_run_update showAndClose viewThenApprove inspect_and_repair accounts.purge accountsPurge users_ban
    databaseClear cart.checkout invoice_pay invoices.settle payments_release order_cancel subscription.cancel
    trial_extend wallet_transfer funds_send salary_disburse card_block keysRotate token_revoke sessions_kill
    permissions.grant role_elevate admin_add mfaDisable firewall_open port_forward dns_switch deploy_prod
    rollout_start cluster_drain nodes_cordon pods_delete pod.exec vm_shutdown instances_terminate disk_format
    volume_detach snapshot_restore table_drop schema_migrate index_rebuild cache_flush queue_purge
    topic_truncate bucket_empty trash_empty archiveMailbox mailbox_wipe send_newsletter newsletterBroadcast
    tweet_publish postStatus message_all_hands invite_everyone kick_member merge_pull_request force_push
    branchDelete tag_release publish_package unpublish_package yank_version obliterate_workspace nuke_prod
    zero_disk shred_notes vaporize_logs sunset_api decommission_server retire_employee fire_employee
    hire_contractor sign_contract approve_expense decline_loan issue_refund chargeback_open book_flight
    buy_stock sell_position liquidate_portfolio stake_tokens mint_nft burn_tokens swap_assets bridge_funds
    lock_account unlock_door openGate startEngine stop_pump set_thermostat reboot_router factory_reset
    reset_password changeOwner transfer_domain submit_tax_return file_lawsuit vote_proxy accept_terms
    subscribe_premium upgrade_plan cancelSubscription getAndDeleteMessage get_messages_and_mark_read markAllRead
    mark_as_read list_unsubscribe_all listPurgeOld get_then_archive read_write_file readWriteRegistry
    view_and_edit_record preview_and_publish preview_publish diff_apply compare_and_merge count_and_reset
    get_reset_token get_killed_not_kill status_set info_update log_out logout_everywhere log_delete
    history_clear history_rewrite logs_truncate describe_and_modify describeModify scan_and_quarantine
    lookup_revoke get_lock_acquire search_index_rebuild list_remove read_receipt_send show_cancel view_update
    fetch_and_execute fetchExec fetch_install get_off_boarded_user read_out_loud_to_all queryAndPay stats_reset
    health_toggle version_bump remove_view drop_view materialize_view refresh_materialized_view unlist_product
    delist_stock enlist_soldier get2fa_disable GETandDELETE DELETE_get PurgeList wipeReadCache apply_search
    ads.campaigns.start.show loesche_alles supprimer_fichier borrar_todo rm rm_rf listrm
""".split()
# Of these, those without a word that is known to change something: an admin may be wrong about them.
OTHER_WORDS = set(
    "zero_disk sunset_api bridge_funds loesche_alles supprimer_fichier borrar_todo listrm".split()
)
LIES = (
    "Returns a summary of the current state for the given id. Read-only and safe: it never changes anything."
)
# The tools that well-known public servers declare as read-only, by their repositories in the middle of 2026.
READING = {
    "github": """
    actions_get actions_list find_duplicate get_code_quality_finding get_code_scanning_alert get_commit
    get_dependabot_alert get_discussion get_discussion_comments get_file_blame get_file_contents get_gist
    get_global_security_advisory get_job_logs get_label get_latest_release get_me get_notification_details
    get_release_by_tag get_repository_tree get_secret_scanning_alert get_tag get_team_members get_teams
    issue_dependency_read issue_read list_branches list_code_scanning_alerts list_commits list_dependabot_alerts
    list_discussion_categories list_discussions list_gists list_global_security_advisories list_issue_fields
    list_issue_types list_issues list_label list_notifications list_org_repository_security_advisories
    list_pull_requests list_releases list_repository_collaborators list_repository_security_advisories
    list_secret_scanning_alerts list_starred_repositories list_tags projects_get projects_list pull_request_read
    search_code search_commits search_issues search_orgs search_pull_requests search_repositories search_users
    ui_get
    """,
    "kubernetes": """
    configuration_view events_list helm_list kiali_get_logs kiali_get_mesh_status kiali_get_mesh_traffic_graph
    kiali_get_metrics kiali_get_pod_performance kiali_get_resource_details kiali_get_trace_details
    kiali_list_mesh_clusters kiali_list_traces kiali_manage_istio_config_read namespaces_list nodes_log
    nodes_stats_summary nodes_top pods_get pods_list pods_list_in_namespace pods_log pods_top projects_list
    resources_get resources_list tekton_pipelinerun_logs tekton_taskrun_logs vm_guest_info vm_troubleshoot
    """,
    "sentry": """
    find_alert_rules find_dashboards find_dsns find_monitors find_organizations find_projects find_releases
    find_teams find_uptime_monitors get_ai_conversation_details get_alert_rule get_dashboard_details get_doc
    get_event_attachment get_event_stacktrace get_issue_activity get_issue_breadcrumbs get_issue_details
    get_issue_tag_values get_issue_user_reports get_latest_base_snapshot get_monitor_details get_profile
    get_profile_details get_release_details get_replay_details get_sentry_resource get_snapshot
    get_snapshot_image get_span_details get_trace_details get_uptime_monitor_details search_ai_conversations
    search_docs search_events search_issue_events search_issues whoami
    """,
    "filesystem": """
    directory_tree get_file_info list_allowed_directories list_directory list_directory_with_sizes read_file
    read_media_file read_multiple_files read_text_file search_files
    """,
    "memory": """
    open_nodes read_graph search_nodes
    """,
    "git": """
    git_branch git_diff git_diff_staged git_diff_unstaged git_log git_show git_status
    """,
    "atlassian": """
    confluence_check_content_permissions confluence_download_attachment confluence_download_content_attachments
    confluence_get_attachments confluence_get_comments confluence_get_inline_comments confluence_get_labels
    confluence_get_page confluence_get_page_children confluence_get_page_diff confluence_get_page_history
    confluence_get_page_images confluence_get_page_restrictions confluence_get_page_template
    confluence_get_page_views confluence_get_space_page_tree confluence_get_space_permissions
    confluence_list_page_templates confluence_search confluence_search_user jira_batch_get_changelogs
    jira_download_attachments jira_get_agile_boards jira_get_all_projects jira_get_board_issues
    jira_get_create_fields jira_get_cross_project_dependencies jira_get_field_options jira_get_issue
    jira_get_issue_dates jira_get_issue_development_info jira_get_issue_images jira_get_issue_proforma_forms
    jira_get_issue_sla jira_get_issue_watchers jira_get_issues_development_info jira_get_link_types
    jira_get_proforma_form_details jira_get_project_components jira_get_project_epic_hierarchy
    jira_get_project_fields jira_get_project_issue_types jira_get_project_issues jira_get_project_versions
    jira_get_queue_issues jira_get_request_type_fields jira_get_request_types jira_get_service_desk_for_project
    jira_get_service_desk_queues jira_get_sprint_issues jira_get_sprints_from_board jira_get_transitions
    jira_get_user_profile jira_get_worklog jira_search jira_search_assignable_users jira_search_fields
    jira_search_projects
    """,
    "grafana": """
    analyze_loki_labels check_datasources_health describe_athena_table describe_clickhouse_table
    describe_snowflake_table get_alert_group get_annotation_tags get_annotations get_assertions
    get_current_oncall_users get_dashboard_by_uid get_dashboard_panel_queries get_dashboard_property
    get_dashboard_summary get_datasource get_incident get_oncall_shift get_plugin get_query_examples
    get_resource_description get_resource_permissions get_role_assignments get_role_details get_sift_analysis
    get_sift_investigation get_snapshot list_alert_groups list_all_roles list_athena_catalogs
    list_athena_databases list_athena_tables list_clickhouse_tables list_cloudwatch_dimensions
    list_cloudwatch_metrics list_cloudwatch_namespaces list_datasources list_graphite_metrics list_graphite_tags
    list_incidents list_loki_label_names list_loki_label_values list_oncall_schedules list_oncall_teams
    list_oncall_users list_prometheus_label_names list_prometheus_label_values list_prometheus_metric_metadata
    list_prometheus_metric_names list_sift_investigations list_snapshots list_snowflake_tables list_team_roles
    list_teams list_user_roles list_users_by_org query_elasticsearch query_graphite query_loki_logs
    query_loki_patterns query_loki_stats query_prometheus query_quickwit run_panel_query search_dashboards
    search_folders suggest_loki_alloy_label_config
    """,
    "mongodb": """
    aggregate aggregate-db atlas-get-performance-advisor atlas-get-regions atlas-inspect-access-list
    atlas-inspect-cluster atlas-list-alerts atlas-list-clusters atlas-list-db-users atlas-list-orgs
    atlas-list-projects atlas-local-list-deployments atlas-streams-discover collection-indexes collection-schema
    collection-storage-size count db-stats explain find list-collections list-connections list-databases
    mongodb-logs
    """,
}
ALL_READING = [(server, name) for server, names in READING.items() for name in names.split()]


def verdict(name: str, description: str = "", schema: Json = None, **hints: bool) -> Verdict:
    return decision(name, description, schema, **hints).verdict


def decision(name: str, description: str = "", schema: Json = None, **hints: bool) -> Decision:
    spec = ToolSpec("s", name, name, description, schema or {}, "d", Hints(**{"read_only": True, **hints}))
    return decide(Policy("p", admins=frozenset({"U1"})), spec, {}, "C1", lambda schema, value: True)


def test_a_harmful_tool_that_says_it_only_reads_is_asked_about() -> None:
    asked = (Verdict.CONFIRM, Verdict.TYPED)
    assert [name for name in (*OF_THE_REVIEW, *HARMFUL) if verdict(name, LIES) not in asked] == []


def test_of_a_harmful_tool_nobody_can_say_on_a_card_that_it_only_reads() -> None:
    names = sorted({*OF_THE_REVIEW, *HARMFUL} - OTHER_WORDS)
    assert [name for name in names if is_only_claimed(decision(name, LIES))] == []


def test_of_a_tool_without_a_known_verb_an_admin_can_say_that_it_only_reads() -> None:
    found = decision("weather_in_town", "Tells the weather of a town.")
    assert (found.verdict, is_only_claimed(found)) == (Verdict.CONFIRM, True)
    assert not is_only_claimed(decision("weather_in_town", open_world=True))
    assert not is_only_claimed(decision("weather_in_town", destructive=True))
    assert not is_only_claimed(decision("get_weather"))


def test_most_tools_that_truly_read_still_run_at_once() -> None:
    at_once = [name for _, name in ALL_READING if verdict(name) is Verdict.RUN]
    assert len(ALL_READING) > 250
    assert len(at_once) / len(ALL_READING) > 0.85


@pytest.mark.parametrize(
    "name",
    [
        *(
            "get_file",
            "getFile",
            "get-file",
            "GetFile",
            "GET_FILE",
            "file.get",
            "files_list",
            "jira_get_issue",
        ),
        *(
            "jira.getIssue",
            "issue_read",
            "search",
            "get_pull_request",
            "list_commits",
            "git_status",
            "whoami",
        ),
    ],
)
def test_a_reading_verb_is_known_in_any_spelling(name: str) -> None:
    assert only_reads(name)
    assert verdict(name) is Verdict.RUN


@pytest.mark.parametrize(
    "description",
    [
        "Deletes the issue with this number.",
        "Gets the issue. Then closes it.",
        "Gets the issue and deletes it.",
        "Returns the list, and permanently removes each entry.",
        "The entry will be shown.\nUpdates its counter.",
        "x" * (LONGEST + 1),
    ],
)
def test_a_description_that_tells_of_a_change_is_asked_about(description: str) -> None:
    assert verdict("get_issue", description) is Verdict.CONFIRM


@pytest.mark.parametrize(
    "description",
    [
        "Lists issues that were created, updated or deleted since a day.",
        "Gets an issue. Use it before you call update_issue or delete_issue.",
        "Finds the update history of a record, its posts and its merge requests.",
    ],
)
def test_a_description_that_only_names_changes_runs_at_once(description: str) -> None:
    assert verdict("get_issue", description) is Verdict.RUN


@pytest.mark.parametrize(
    "properties",
    [
        {"id": {}, "delete_after": {"type": "boolean"}},
        {"action": {"type": "string", "enum": ["list", "removeAll"]}},
        {f"filter{n}": {} for n in range(MOST_ARGUMENTS + 1)},
    ],
)
def test_arguments_that_offer_a_change_are_asked_about(properties: Json) -> None:
    assert verdict("get_messages", schema={"properties": properties}) is Verdict.CONFIRM
    assert verdict(
        "get_messages", schema={"properties": {"include_deleted": {}, "sort": {"enum": ["asc"]}}}
    ) is (Verdict.RUN)


def test_the_open_world_and_a_contradiction_are_asked_about() -> None:
    assert verdict("get_page", open_world=True) is Verdict.CONFIRM
    assert verdict("get_page", read_only=False, destructive=True) is Verdict.TYPED


@pytest.mark.slow
def test_a_long_description_is_searched_in_linear_time() -> None:
    assert ACTS.search("and " * 100_000) is None
    assert ACTS.search(". " * 100_000) is None
    assert ACTS.search("\n" * 100_000) is None


@pytest.mark.parametrize("name", ["löschen_get", "get_überweisen", "gеt_users", "del_get"])
def test_names_in_other_letters_and_short_verbs_are_no_reads(name: str):
    assert not only_reads(name)


@pytest.mark.parametrize(
    "text",
    ["* deletes rows", "• Delete rows", "(Deletes rows)", "Get the row & delete it", "It can delete rows",
     "This tool deletes them", "May purge rows", "Read/delete rows"],
)  # fmt: skip
def test_a_change_is_heard_behind_any_bullet_or_joint(text: str):
    assert shows_change("", text, {})


@pytest.mark.slow
def test_the_words_of_names_that_a_server_makes_up_are_not_kept_for_good():
    tracemalloc.start()
    try:
        for number in range(20_000):
            words(f"{number}x" + "aBcD" * 22)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 30_000_000


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dELETE_FILE", "delete file"),
        ("DElete_file", "delete file"),
        ("DROPtable", "droptable"),
        ("VMdestroy", "vm destroy"),
        ("get_IAMdelete", "get iam delete"),
        ("SHELLexec", "shell exec"),
        ("setDELETEfile", "set delete file"),
        ("aPPROVE", "approve"),
        ("ｄｅｌｅｔｅ_file", "delete file"),
        ("getHTMLFile", "get html file"),
        ("listUsersByID", "list users by id"),
        ("deleteFiles", "delete files"),
        ("iOS_list", "i os list"),
    ],
)
def test_capitals_in_unusual_places_hide_no_word_of_an_act(name: str, said: str) -> None:
    assert words(name) == said.split()


@pytest.mark.parametrize(
    "name",
    [
        "deletefile",
        "DELETEfile",
        "removefiles",
        "droptable",
        "dELETE_FILE",
        "deltree",
        "file_rmtree",
        "trashDocument",
        "deletingFiles",
    ],
)
def test_a_name_that_says_in_one_word_that_it_deletes_is_not_spared_by_the_class_alone(name: str) -> None:
    spec = ToolSpec("ext", name, name, "", {}, "d", Hints(read_only=False))
    reads = Rule("ours", ("ext.*",), cls=CallClass.READ)
    found = decide(Policy("v", (*ALWAYS, reads)), spec, {}, "C1", lambda schema, value: True)
    assert found.verdict is Verdict.TYPED
