"""Where a webhook may go: nowhere inside, however it is spelled."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.url_guard import address_refusal, parse_target

INSIDE = """127.0.0.1 127.8.8.8 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1
100.127.255.254 192.0.2.1 198.18.0.1 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 192.0.0.1
:: ::1 fe80::1 fc00::1 fd00:ec2::254 ff02::1 2001:db8::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:10.0.0.1
64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:7f00:1:: 2002:a9fe:a9fe:: ::7f00:1 fe80::1%eth0 fec0::1
2001:0:4136:e378:8000:63bf:80ff:fffe 192.0.0.8 192.0.0.192 192.88.99.1 3fff::1 2a00::5efe:7f00:1
64:ff9b:1:a9fe:a9:fe00:808:808""".split()
OUTSIDE = "1.1.1.1 8.8.8.8 93.184.215.14 2606:4700:4700::1111 2001:4860:4860::8888 ::ffff:8.8.8.8".split()


# promise: API-15
@pytest.mark.parametrize("address", INSIDE)
def test_nothing_inside_is_reached(address: str) -> None:
    assert address_refusal(address)


@pytest.mark.parametrize("address", OUTSIDE)
def test_the_open_internet_is_reached(address: str) -> None:
    assert address_refusal(address) == ""


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f000001", "1.2.3.4.5", "::g"])
def test_what_is_no_address_is_not_reached(text: str) -> None:
    assert address_refusal(text)


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_the_same_inside_an_ipv6_one(address: object) -> None:
    bare = bool(address_refusal(str(address)))
    mapped = ip_address(int(ip_address("::ffff:0:0")) + int(address))  # type: ignore[call-overload]
    assert bool(address_refusal(str(mapped))) is bare


def test_the_operator_allows_networks_of_their_own() -> None:
    allowed = (ip_network("10.1.0.0/16"),)
    assert address_refusal("10.1.2.3", allowed) == ""
    assert address_refusal("::ffff:10.1.2.3", allowed) == ""
    assert address_refusal("10.2.2.3", allowed)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://example.com:8443/",
        "https://user@example.com/",
        "https://user:pass@example.com/",
        "https://example.com@127.0.0.1/",
        "https://example.com/#x",
        "https:///path",
        "https://",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com:6379/",
        "//example.com/",
        "example.com",
        "https://example.com:99999/",
        "https://example.com/\r\nx: y",
        "https://example.com/ x",
        "https://exämple.com/",
        "https:\\\\example.com\\",
        "https://[::1/",
        "https://example.com/" + "x" * 2000,
    ],
)
def test_a_url_of_another_kind_is_told(url: str) -> None:
    assert isinstance(parse_target(url), str)


def test_other_ports_and_plain_http_are_for_networks_that_are_allowed() -> None:
    allowed = (ip_network("10.1.0.0/16"),)
    assert isinstance(parse_target("http://10.1.0.1:8080/", ()), str)
    assert not isinstance(parse_target("http://10.1.0.1:8080/", allowed), str)
    assert not isinstance(parse_target("https://example.com/hook"), str)
