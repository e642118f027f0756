"""From text to windows of token ids with the `tokenizers` library, for whatever tokenizer.json says."""

from tokenizers import Tokenizer

from index.embed.folder import ModelFolder
from index.errors import EmbedderError


class LibraryTokenizer:
    """Fast on many texts; takes a second to load a vocabulary of 250,000 pieces."""

    def __init__(self, folder: ModelFolder) -> None:
        try:
            tokenizer = Tokenizer.from_file(str(folder.tokenizer))
        except Exception as fault:
            raise EmbedderError(f"tokenizer {folder.tokenizer}: cannot be loaded (copy the file again)") from fault
        tokenizer.no_padding()
        tokenizer.enable_truncation(folder.max_tokens)
        tokenizer.encode_special_tokens = True  # "</s>" in a text is text
        self._tokenizer = tokenizer
        self.special_count: int = tokenizer.num_special_tokens_to_add(is_pair=False)

    def windows(self, text: str) -> list[list[int]]:
        """At least one, none longer than the model reads, each with its special tokens."""
        encoding = self._tokenizer.encode(text)
        return [encoding.ids, *(window.ids for window in encoding.overflowing)]
