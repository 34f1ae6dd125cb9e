import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { ProfileDraft } from "#protocol/wire/requests.ts";
import { TEST_CREDENTIAL } from "#storage/testing/spawn-store.ts";
import { profileFor, type TestStore } from "./open-test-hub.ts";
import { makeTestDatabase, type TestDatabase } from "./test-database.ts";
import { createReach, readReach } from "../platform/reach.ts";
import { rebuild } from "../features/maintenance/rebuild.ts";
import { openToolsAlone, type Tools } from "../features/maintenance/command-line/tools.ts";

/** For tests of a rebuild from a bucket: in every test the tools of a hub with an empty database. */
let folder: string;
let database: TestDatabase;
export let tools: Tools;

/** Registers the hooks that run before and after the tests of a file. */
export function toolsForEach(): void {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "tidemark-rebuilt-"));
    database = await makeTestDatabase(folder);
    tools = await openToolsAlone({
      dataFolder: folder,
      ...database.settings,
      secret: null,
      previous: null,
      reach: createReach(readReach({}, { isLoopback: true })),
      now: Date.now,
    });
  });
  afterEach(async () => {
    await tools.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
}

/** Rebuilds that hub's database from the bucket of `store`. */
export const rebuildFrom = (store: Pick<TestStore, "endpoint">, changes: Partial<ProfileDraft> = {}) =>
  rebuild(tools, { profile: profileFor(store.endpoint, changes), credential: TEST_CREDENTIAL });
