import type { Database } from "#prisma/open.ts";
import { wordsOf } from "#prisma/sql-words.ts";

/**
 * Caps stored sizes above `Number.MAX_SAFE_INTEGER`, and clears start times that are no date. Nodes could report such values
 * before inputs were bounded. The database client refuses every answer that contains one, so one row would break each list
 * that shows it.
 */
export const cutSizes = (db: Database): Promise<void> => wordsOf(db).mendNumbers(db);
