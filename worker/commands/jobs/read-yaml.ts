import { parse } from "yaml";

/**
 * Parses one YAML document, of which JSON is a part. Aliases are limited, so that a small text cannot become a huge value.
 * @throws Error of the parser with line and column
 */
export const readYaml = (text: string): unknown => parse(text, { maxAliasCount: 100, prettyErrors: true });
