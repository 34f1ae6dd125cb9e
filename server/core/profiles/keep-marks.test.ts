import { expect, it } from "vitest";
import { hubMarkKey, readMarkText } from "#protocol/checkpoint/writer-lease.ts";
import { deleteObject, getObjectText, putObjectText } from "#storage/s3/objects.ts";
import { hubForEach, store, test } from "#server/testing/hub-for-each.ts";
import { addTestProfile, callAs, profileFor } from "#server/testing/open-test-hub.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { keepMarks } from "./keep-marks.ts";

hubForEach();

let places = 0;
/** Adds a profile with a prefix of its own. */
async function addPlace() {
  const prefix = `place-${++places}/`;
  const id = await addTestProfile(test.hub, store.endpoint, { prefix });
  const { client, access } = await test.hub.stores.open(id);
  return { id, prefix, client, at: { bucket: access.bucket, key: hubMarkKey(prefix) } };
}

it("marks the prefix of a profile that no node has used yet, and again after somebody removed the mark", async () => {
  const { client, at, prefix, id } = await addPlace();
  await keepMarks(test.hub, new Set());
  const { text } = await getObjectText(client, { ...at, maxBytes: 1_000 });
  expect(readMarkText(text)).toMatchObject({ url: test.hub.settings.publicUrl?.href ?? null });
  await deleteObject(client, at);
  await keepMarks(test.hub, new Set());
  expect(await keysOf(test.hub, id, prefix)).toEqual([at.key]);
});

it("says once that a prefix could not be marked", async () => {
  await addTestProfile(test.hub, store.endpoint, { bucket: "no-such-bucket" });
  const refused = new Set<string>();
  const said: unknown[] = [];
  const hub = Object.assign(Object.create(test.hub) as typeof test.hub, {
    log: { warn: (about: unknown) => void said.push(about) },
  });
  await keepMarks(hub, refused);
  await keepMarks(hub, refused);
  expect(said).toMatchObject([{ error: { code: "NO_SUCH_BUCKET" } }]);
});

it("takes its mark along when a profile is removed or moves, but not the one of another hub", async () => {
  const { id, prefix } = await addPlace();
  const witness = await addTestProfile(test.hub, store.endpoint, { name: "witness", prefix: "witness/" });
  await keepMarks(test.hub, new Set());
  const moved = profileFor(store.endpoint, { prefix: `${prefix}deeper/` });
  await callAs(test.hub, "admin").profiles.update({ id, version: 1, profile: moved, credential: null });
  expect(await keysOf(test.hub, witness, prefix)).toEqual([]);
  await keepMarks(test.hub, new Set());
  expect(await keysOf(test.hub, witness, prefix)).toEqual([hubMarkKey(`${prefix}deeper/`)]);
  await callAs(test.hub, "admin").profiles.remove({ id });
  expect(await keysOf(test.hub, witness, prefix)).toEqual([]);

  const other = await addPlace();
  const theirs = { format: "tidemark.hub", version: 1, url: "https://other.example/", markedAt: 1 };
  await putObjectText(other.client, { ...other.at, text: JSON.stringify(theirs) });
  await callAs(test.hub, "admin").profiles.remove({ id: other.id });
  expect(await keysOf(test.hub, witness, other.prefix)).toEqual([other.at.key]);
});
