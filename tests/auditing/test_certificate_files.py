"""Certificates in files: their schema and their page."""

import json

import jsonschema
import numpy as np
import pytest

from dpverify import certify, Pair, PureDP
from dpverify.cli import main
from dpverify.errors import UsageError
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity
from dpverify.report import html_page, json_file
from dpverify.report.html_page import certificate_json, render_certificate


class Noisy:
    ledger = Ledger(LaplaceNoise(scale=1.0, sensitivity=Sensitivity(replace=1.0)))

    def release(self, data, *, rng, size):
        return data + rng.laplace(size=size)

    def log_ratio(self, outputs, pair):
        return (np.abs(outputs - pair[1]) - np.abs(outputs - pair[0])).ravel()


@pytest.fixture(scope="module")
def proved():
    return certify(Noisy(), claim=PureDP(1.0), pairs=Pair(0.0, 1.0), trials=1_000, seed=1)


@pytest.fixture(scope="module")
def refuted():
    return certify(Noisy(), claim=PureDP(0.5), pairs=Pair(0.0, 1.0), trials=2_000, seed=1, tape=False)


def test_certificates_are_as_the_schema_says(proved, refuted):
    for found in (proved, refuted):
        document = json.loads(certificate_json(found))
        schema = json_file.certificate_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(document, schema)
        assert set(document) == set(schema["properties"])
        for broken in ("digest", "statement", "records"):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({k: v for k, v in document.items() if k != broken}, json_file.certificate_schema())


def test_a_certificate_survives_a_file_and_a_changed_one_does_not(proved, tmp_path):
    file = tmp_path / "c.json"
    file.write_text(certificate_json(proved), encoding="utf-8")
    assert json.loads(certificate_json(html_page.load_certificate(file))) == json.loads(certificate_json(proved))
    file.write_text(certificate_json(proved).replace('"certified": true', '"certified": false'), encoding="utf-8")
    with pytest.raises(UsageError, match="digest"):
        html_page.load_certificate(file)
    for text in ("", "[]", '{"schema": "dpverify/certificate/1"}', "{}"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError):
            html_page.load_certificate(file)


def test_report_shows_it_with_its_exit_code(proved, refuted, tmp_path, capsys):
    for found, code in ((proved, 0), (refuted, 1)):
        file, page = tmp_path / "c.json", tmp_path / "c.html"
        file.write_text(certificate_json(found), encoding="utf-8")
        assert main.run(["report", str(file), "--html", str(page)]) == code
        assert page.read_text(encoding="utf-8") == render_certificate(found)
    assert main.run(["report", str(file), "--junit", str(tmp_path / "x.xml")]) == 2
    assert "certificate" in capsys.readouterr().err


def test_the_page_has_the_interval_first_and_plots_open(proved):
    page = render_certificate(proved)
    assert 0 < page.index('class="bar"') < page.index("<main>")
    head = page[: page.index("<main>")]
    assert 'class="bar ticks"' in head  # the interval has a scale and a key: nothing is drawn without words
    assert all(said in head for said in (">claim</text>", "certified lower bound", "proved upper bound"))
    assert '<details open class="subject"' in page
    for said in ("CERTIFIED", "two datasets are neighbours where", "What this does not prove", "sha256:"):
        assert said in page, said
