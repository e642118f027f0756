"""The MCP server: the index as tools for assistants. See README.md."""
