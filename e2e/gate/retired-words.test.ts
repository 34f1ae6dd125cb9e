import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./run-step.ts";

/** Words of an earlier vocabulary, which a reader cannot guess. Database columns and wire names may keep them. */
const RETIRED =
  /\b(?:interface|type|class|function|const) +[A-Za-z]*?(?:Tally|Keeper|Errand|Wish(?:es)?|Mood|Helm|Verbs?|Governor|Convoy|Narrator|Leftovers?|Bell|FlightMemory|Trips)\b/g;

/** Returns the declarations in a source text whose names end in a retired word. */
const retiredIn = (text: string): string[] => [...text.matchAll(RETIRED)].map(([whole]) => whole);

test("finds a retired word at the end of a declared name, and no other word that contains it", () => {
  expect(retiredIn("export function createLogKeeper() {}\ninterface CopyWish {}")).toHaveLength(2);
  expect(retiredIn("const total = 1;\ninterface Heartbeat {}\nfunction readTripsMs() {}")).toEqual([]);
});

test("no declaration of the product ends in a retired word", () => {
  const files = globSync("{app,prisma,protocol,server,storage,worker}/**/*.{ts,tsx}", { cwd: ROOT });
  expect(files.length).toBeGreaterThan(1_000);
  const found = files.flatMap((file) =>
    retiredIn(readFileSync(join(ROOT, file), "utf8")).map((name) => `${file}: ${name}`),
  );
  expect(found).toEqual([]);
});
