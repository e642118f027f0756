"""Any model directory in the usual layout works by its path; what is wrong with one is said in a line."""

from pathlib import Path

import pytest

from index.embed import EmbedSettings, Refusal, Role, open_embedder
from index.embed.folder import read_folder
from index.embed.vectors import cosine
from index.errors import ConfigError, EmbedderError
from tests.embed.tiny_model import DIMENSION, write_tiny_model


async def similarity(settings: EmbedSettings, one: str, other: str) -> float:
    embedder = open_embedder(settings)
    assert embedder is not None
    left, right = await embedder.embed([one, other], Role.DOCUMENT)
    await embedder.close()
    assert not isinstance(left, Refusal)
    assert not isinstance(right, Refusal)
    return cosine(left, right)


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx", "encoder-int8.onnx"])
@pytest.mark.parametrize("pools_itself", [False, True])
@pytest.mark.parametrize("with_mask", [False, True])
async def test_the_usual_layouts_work(tmp_path: Path, name: str, pools_itself: bool, with_mask: bool) -> None:
    folder = write_tiny_model(tmp_path / "tiny", name=name, pools_itself=pools_itself, with_mask=with_mask)
    settings = EmbedSettings(model=str(folder))
    assert await similarity(settings, "restore backup", "backup restore") > 0.999
    assert await similarity(settings, "restore backup", "bread bread") < 0.99


async def test_the_vector_of_the_first_token_where_the_directory_says_so(tmp_path: Path) -> None:
    files = {"1_Pooling/config.json": {"pooling_mode_cls_token": True}}
    folder = write_tiny_model(tmp_path / "tiny", files=files)
    assert await similarity(EmbedSettings(model=str(folder)), "backup", "bread") > 0.9999


def test_prefixes_and_bounds_come_from_the_directory_and_settings_win(tmp_path: Path) -> None:
    files: dict[str, object] = {
        "config_sentence_transformers.json": {"prompts": {"query": "ask: ", "passage": "text: "}},
        "sentence_bert_config.json": {"max_seq_length": 6},
    }
    folder = write_tiny_model(tmp_path / "tiny", files=files)
    plain = open_embedder(EmbedSettings(model=str(folder)))
    chosen = open_embedder(EmbedSettings(model=str(folder), query_prefix="", document_prefix="d: "))
    assert plain is not None
    assert chosen is not None
    assert (plain.identity.query_prefix, plain.identity.document_prefix) == ("ask: ", "text: ")
    assert (chosen.identity.query_prefix, chosen.identity.document_prefix) == ("", "d: ")
    assert plain.identity.max_tokens == 6
    assert plain.identity.dimension == DIMENSION
    assert plain.identity.name == "local:tiny"


async def test_a_text_of_many_windows_is_the_mean_of_all(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tiny")
    settings = EmbedSettings(model=str(folder))
    half = "backup " * 60 + "bread " * 60
    assert await similarity(settings, half, "backup backup backup bread bread bread") > 0.999
    assert await similarity(settings, half, "backup backup backup backup backup backup") < 0.99


@pytest.mark.parametrize("file", ["config.json", "config_sentence_transformers.json", "1_Pooling/config.json"])
@pytest.mark.parametrize("content", ["{", "[" * 100_000, "\x00"])
def test_a_setting_that_is_no_json_is_one_clear_error(tmp_path: Path, file: str, content: str) -> None:
    folder = write_tiny_model(tmp_path / "tiny", files={file: content})
    with pytest.raises(EmbedderError, match=file.rpartition("/")[2]):
        read_folder(folder)


@pytest.mark.parametrize("content", ["[]", "3", '{"hidden_size": "384"}', '{"hidden_size": -1}', "{}"])
def test_a_directory_that_does_not_say_its_dimension_asks_for_the_setting(tmp_path: Path, content: str) -> None:
    folder = write_tiny_model(tmp_path / "tiny", files={"config.json": content})
    with pytest.raises(ConfigError, match="set dimension"):
        open_embedder(EmbedSettings(model=str(folder)))
    assert open_embedder(EmbedSettings(model=str(folder), dimension=DIMENSION)) is not None


async def test_a_wrong_dimension_is_found_at_the_first_text(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tiny", files={"config.json": {"hidden_size": 5}})
    with pytest.raises(EmbedderError, match="gives 4 dimensions, 5"):
        await similarity(EmbedSettings(model=str(folder)), "backup", "bread")


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
async def test_a_damaged_file_is_one_clear_error(tmp_path: Path, file: str) -> None:
    folder = write_tiny_model(tmp_path / "tiny")
    (folder / file).write_bytes(b"\x00garbage")
    with pytest.raises(EmbedderError, match=file):
        await similarity(EmbedSettings(model=str(folder)), "backup", "bread")


def test_missing_and_ambiguous_models_are_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"no tokenizer\.json"):
        read_folder(tmp_path)
    folder = write_tiny_model(tmp_path / "tiny", name="a.onnx")
    (folder / "b.onnx").write_bytes(b"")
    with pytest.raises(EmbedderError, match="2 ONNX files"):
        read_folder(folder)
    (folder / "a.onnx").unlink()
    (folder / "b.onnx").unlink()
    with pytest.raises(EmbedderError, match="no ONNX file"):
        read_folder(folder)
