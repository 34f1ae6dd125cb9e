/**
 * Derives the schema of PostgreSQL from schema.prisma, so that there is one source. Models, columns, indexes and defaults are the
 * same text: the schema uses no type that only one of the two databases has.
 */

const SOURCE_OF_DERIVED =
  "// Derived from ../schema.prisma by `node prisma/postgres/main.ts`. Change that file, not this one.\n\n";

/** Replaces `from`, which must be there exactly once. @throws Error */
function replaceOnce(text: string, from: string, to: string): string {
  const [before, after, ...more] = text.split(from);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(`schema.prisma has not exactly one line ${JSON.stringify(from)}: adapt derive-schema.ts`);
  return `${before}${to}${after}`;
}

/** Returns the text of the schema for PostgreSQL. @throws Error when the source does not have the expected form */
export function deriveSchema(source: string): string {
  const derived = replaceOnce(source, 'provider = "sqlite"', 'provider = "postgresql"');
  return SOURCE_OF_DERIVED + derived.slice(derived.indexOf("generator client"));
}
