import { draftMigration } from "./draft-migration.ts";

process.stdout.write((await draftMigration()) ?? "-- The committed migrations already give the schema.\n");
