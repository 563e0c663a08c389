"""`cdc-relay status` with the relay up: its state and why, its figures, and who else may answer in its place."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_kafka import MakeKafka
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.outbox import insert_event, insert_events
from tests.fixtures.scratch import free_port
from tests.integration.status_rig import look, look_json, run_cdc_relay, wait_for_report, write_config
from tests.integration.waiting_rig import wait_for_state

pytestmark = pytest.mark.kafka


@pytest.mark.core
def test_a_streaming_relay_is_shown_with_its_real_figures_to_the_role_of_run(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    with pipeline.database.connect() as conn:
        insert_events(conn, 50, pipeline.aggregate_type)
    seen = wait_for_report(
        relay.config_file,
        lambda seen: seen["relay"]["published_records"] == 50 and seen["relay"]["last_delivery_seconds"] is not None,
        what="status has the 50 records",
    )
    said, slot = seen["relay"], seen["slot"]
    assert (said["state"], said["role"], said["pid"], said["slot"]) == ("streaming", "reader", relay.pid, pipeline.slot)
    assert said["rate_per_second"] > 0
    assert (said["live"], said["ready"], said["errors"], said["closed_topics"]) == (True, True, [], [])
    assert (slot["plugin"], slot["active"], slot["wal_status"], slot["is_here"]) == ("pgoutput", True, "reserved", True)
    assert slot["reader"]["application_name"] == f"cdc-relay:{pipeline.slot}"
    assert slot["kept_bytes"] >= slot["lag_bytes"] >= 0
    assert seen["lag"]["at_most"] is False
    assert (seen["troubles"], seen["verdict"]) == ([], {"level": "ok", "text": "all is well"})
    text = look(relay.config_file)
    assert f"slot      {pipeline.slot}: read by pid {slot['reader']['pid']} (" in text
    assert "headroom unlimited: WAL is kept until the disk is full" in text
    assert text.endswith("verdict   all is well\n")


@pytest.mark.real_kafka
def test_a_relay_that_holds_and_then_releases_the_line_says_since_when_and_why(
    make_kafka: MakeKafka, make_pipeline: MakePipeline
) -> None:
    broker = make_kafka()
    pipeline = make_pipeline(kafka=broker)
    relay = pipeline.start_relay(delivery={"window": {"records": 5}, "release_line_after": "40s"})
    broker.freeze()
    with pipeline.database.connect() as conn:
        insert_events(conn, 50, pipeline.aggregate_type)
    wait_for_state(relay, "holding")
    seen = look_json(relay.config_file)
    assert (seen["relay"]["state"], seen["relay"]["open_records"]) == ("holding", 5)
    assert seen["lag"]["seconds"] >= 5
    assert seen["verdict"]["level"] == "act"
    assert "the relay holds for" in seen["verdict"]["text"]
    assert [error["what"].partition(":")[0] for error in seen["relay"]["errors"]] == ["holding"]
    seen = wait_for_report(
        relay.config_file,
        lambda seen: (seen["relay"]["state"], seen["slot"]["active"]) == ("released", False),
        what="the line is released",
    )
    assert "has released the line" in seen["verdict"]["text"]
    assert seen["lag"]["seconds"] >= 40
    broker.thaw()
    seen = wait_for_report(
        relay.config_file, lambda seen: seen["verdict"]["level"] == "ok", what="all is well after the thaw"
    )
    assert {error["what"].partition(":")[0] for error in seen["relay"]["errors"]} >= {"holding", "released"}


def test_a_standby_is_well_and_the_reader_is_named(pipeline: Pipeline) -> None:
    reader = pipeline.start_relay()
    standby = pipeline.start_relay(ready=False)
    wait_for_state(standby, "standby")
    seen = look_json(standby.config_file)
    assert (seen["relay"]["state"], seen["relay"]["role"], seen["relay"]["pid"]) == ("standby", "standby", standby.pid)
    assert seen["relay"]["lag_seconds"] is None
    assert (seen["slot"]["active"], seen["verdict"]["level"]) == (True, "ok")
    assert look_json(standby.config_file, "--url", f"http://127.0.0.1:{reader.http_port}")["relay"]["role"] == "reader"


def test_a_relay_that_waits_for_the_broker_says_so(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(ready=False, bootstrap=f"127.0.0.1:{free_port()}")
    wait_for_state(relay, "waiting")
    seen = look_json(relay.config_file)
    assert "the relay waits for" in seen["verdict"]["text"]
    assert "Kafka does not answer" in seen["verdict"]["text"]


@pytest.mark.real_kafka
def test_a_closed_topic_is_shown_with_its_remedy_and_is_gone_when_it_was_applied(
    make_kafka: MakeKafka, make_pipeline: MakePipeline
) -> None:
    broker = make_kafka(**{"auto.create.topics.enable": False})
    pipeline = make_pipeline(kafka=broker)
    relay = pipeline.start_relay()
    missing = f"outbox.event.missing-{pipeline.slot}"
    with pipeline.database.connect() as conn:
        insert_event(conn, f"missing-{pipeline.slot}")
    seen = wait_for_report(
        relay.config_file,
        lambda seen: seen["relay"]["closed_topics"] and seen["waiting_topics"],
        what="the topic is closed and its record in the lot",
    )
    [topic] = seen["relay"]["closed_topics"]
    assert (topic["topic"], topic["code"] in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")) == (missing, True)
    assert seen["waiting_topics"] == [{"topic": missing, "records": 1}]
    assert seen["verdict"]["text"].startswith(f"topic {missing} is closed (")
    assert topic["remedy"] in seen["verdict"]["text"]
    text = look(relay.config_file)
    assert f"{missing} closed for" in text
    assert f"{missing}: 1 parked records wait for it to open" in text
    assert "is closed: " in text.partition("\nerrors")[2]
    broker.create_topic(missing, 1)
    wait_for_report(relay.config_file, lambda seen: seen["verdict"]["level"] == "ok", what="the topic is open again")


@pytest.mark.core
def test_dead_records_are_counted_with_the_command_that_shows_them(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    with pipeline.database.connect() as conn:
        insert_event(conn, "not a topic!")
    seen = wait_for_report(relay.config_file, lambda seen: seen["verdict"]["level"] != "ok", what="the record is dead")
    command = f"cdc-relay dlq list -c {relay.config_file} --status dead"
    assert seen["verdict"]["text"] == f"1 record is dead: decide what becomes of it: {command}"
    assert [(one["status"], one["records"]) for one in seen["parked"] if one["records"]] == [("dead", 1)]
    [error], code = seen["relay"]["errors"], seen["dead_errors"][0]["code"]
    assert error["what"].endswith(f"is dead: {code}")
    assert "dead" in run_cdc_relay(command)


def test_a_relay_that_is_stopped_by_the_kernel_is_no_answer_but_its_slot_is_read(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(source={"wal_sender_timeout": "120s"})
    relay.pause()
    try:
        seen = look_json(relay.config_file)
    finally:
        relay.resume()
    assert (seen["relay"], seen["slot"]["active"]) == (None, True)
    assert "the slot is read, but no answer at" in seen["verdict"]["text"]


# --- who answers


def test_the_relay_of_another_slot_at_that_port_is_noticed(make_pipeline: MakePipeline, tmp_path: Path) -> None:
    one, other = make_pipeline(), make_pipeline()
    running = other.start_relay()
    seen = look_json(write_config(one.config(http=running.config["http"]), tmp_path))
    assert seen["relay"] is None
    [trouble] = seen["troubles"]
    assert (trouble["section"], other.slot in trouble["problem"]) == ("relay", True)
    assert "not read by anybody" in seen["verdict"]["text"]


@pytest.fixture
def stranger() -> Iterator[int]:
    """Another program's HTTP server; its port."""
    server = HTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


class Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"status": "UP"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


def test_another_program_at_that_port_is_not_taken_for_the_relay(
    pipeline: Pipeline, tmp_path: Path, stranger: int
) -> None:
    seen = look_json(write_config(pipeline.config(http={"listen": f"127.0.0.1:{stranger}"}), tmp_path))
    assert seen["relay"] is None
    assert "is no cdc-relay that knows /status" in seen["troubles"][0]["problem"]


def test_a_relay_on_all_addresses_is_asked_on_this_machine(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(ready=False, http={"listen": f"0.0.0.0:{free_port()}"})
    wait_for_state(relay, "streaming")
    assert look_json(relay.config_file)["relay"]["pid"] == relay.pid


def test_a_relay_without_http_is_said_to_have_none(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(ready=False, http={"listen": "off"})
    relay.wait_for_log('"state": "streaming"')
    seen = look_json(relay.config_file)
    assert (seen["url"], seen["relay"], seen["slot"]["active"]) == (None, None, True)
    assert "serves no HTTP" in seen["troubles"][0]["problem"]
    assert seen["verdict"]["level"] == "ok"


@pytest.mark.parametrize("url", ["http://a..b:1", "http://127.0.0.1:1/a b", "https://127.0.0.1:1"])
def test_a_place_that_cannot_be_reached_is_no_traceback(pipeline: Pipeline, tmp_path: Path, url: str) -> None:
    seen = look_json(write_config(pipeline.config(), tmp_path), "--url", url)
    assert seen["troubles"][0]["problem"].startswith(f"no answer at {url}: ")


@pytest.mark.parametrize("url", ["ftp://here", "127.0.0.1:9464", "http://", "http://h:port", "http://[::1"])
def test_a_url_that_is_none_is_a_usage_error(pipeline: Pipeline, tmp_path: Path, url: str) -> None:
    assert look(write_config(pipeline.config(), tmp_path), "--url", url, exit_code=2) == ""


@pytest.mark.parametrize("url", ["http://u:secret@127.0.0.1:1", "http://u:secret@[::1"])
def test_a_password_in_the_url_is_refused_and_not_shown(pipeline: Pipeline, tmp_path: Path, url: str) -> None:
    line = [sys.executable, "-m", "cdc_relay", "status", "-c", str(write_config(pipeline.config(), tmp_path))]
    done = subprocess.run([*line, "--url", url], capture_output=True, text=True, timeout=90)
    assert (done.returncode, "without @" in done.stderr, "Traceback" in done.stderr) == (2, True, False)
    assert "secret" not in done.stdout + done.stderr
