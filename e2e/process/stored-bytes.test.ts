import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changeListings, putOdd, serveOdd, type PassedAnswer } from "../stage/odd-objects.ts";
import { at, does, here, lines, round, start, store, tree, useVerbs } from "./verbs-stage.ts";

/** Stored bytes are the bytes, whatever the store says of them; and what a store says oddly is understood. */

useVerbs();

const against = async (args: string[], change: (answer: PassedAnswer) => PassedAnswer) => {
  const odd = await serveOdd(store, change);
  try {
    return await start(args, { ...store, endpoint: odd.endpoint }).ended;
  } finally {
    await odd.close();
  }
};

test("an object that is a web page is no answer of somebody else: cp, sync and cat give it", async () => {
  const body = "<!doctype html><html><body>a report</body></html>";
  await putOdd(store, `t${round}/h/report.html`, { Body: body, ContentType: "text/html" });
  await does(["cp", `${at}/h/report.html`, join(here, "report.html")]);
  await does(["sync", `${at}/h`, join(here, "h")]);
  expect([readFileSync(join(here, "report.html"), "utf8"), tree(join(here, "h"))]).toEqual([
    body,
    { "report.html": body },
  ]);
  expect((await does(["cat", `${at}/h/report.html`])).out.toString()).toBe(body);
});

test("an archived object is named as that, with what to do, and the others are fetched", async () => {
  for (const key of ["a/cold", "a/warm"]) await putOdd(store, `t${round}/${key}`);
  const refuse = (answer: PassedAnswer): PassedAnswer =>
    answer.method === "GET" && answer.url.includes("/a/cold")
      ? {
          ...answer,
          status: 403,
          headers: { "content-type": "application/xml" },
          body: Buffer.from(
            '<?xml version="1.0"?><Error><Code>InvalidObjectState</Code><Message>no</Message><StorageClass>DEEP_ARCHIVE</StorageClass></Error>',
          ),
        }
      : answer;
  const copied = await against(["cp", "--json", `${at}/a`, join(here, "a")], refuse);
  expect(copied.code, copied.text).toBe(8);
  const failed = lines(copied)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "failed");
  expect(failed).toMatchObject([{ name: `t${round}/a/cold`, fault: { code: "OBJECT_ARCHIVED" } }]);
  expect(tree(join(here, "a"))).toEqual({ warm: "x" });
  const one = await against(["cat", `${at}/a/cold`], refuse);
  expect([one.code, /Restore it first/.test(one.talk)]).toEqual([4, true]);
});

test("an object with a key of its own (SSE-C) is named in the store's words and at once, and the others are fetched", async () => {
  for (const key of ["s/own", "s/plain"]) await putOdd(store, `t${round}/${key}`);
  const message = "The object was stored using a form of Server Side Encryption.";
  const refuse = (answer: PassedAnswer): PassedAnswer =>
    answer.url.includes("/s/own")
      ? {
          ...answer,
          status: 400,
          headers: { "content-type": "application/xml" },
          body: Buffer.from(
            `<?xml version="1.0"?><Error><Code>InvalidRequest</Code><Message>${message}</Message></Error>`,
          ),
        }
      : answer;
  const copied = await against(["cp", `${at}/s`, join(here, "s")], refuse);
  expect([copied.code, tree(join(here, "s"))]).toEqual([8, { plain: "x" }]);
  // The answer to a HEAD has no body: the reason is asked for, in place of asking again for as long as --retry-for says.
  for (const verb of [
    ["cat", `${at}/s/own`],
    ["cp", `${at}/s/own`, join(here, "own")],
  ]) {
    const one = await against(verb, refuse);
    expect([one.code, one.talk.includes(message), one.talk.includes("Trying again")], one.talk).toEqual([
      1,
      true,
      false,
    ]);
  }
});

test("a store that says that it encodes names, and leaves plus signs as they are, is understood", async () => {
  await putOdd(store, `t${round}/p/a+b.txt`);
  const raw = changeListings((text) => text.replaceAll("%2B", "+"));
  const copied = await against(["cp", `${at}/p`, join(here, "p")], raw);
  expect(copied, copied.talk).toMatchObject({ code: 0 });
  expect(tree(join(here, "p"))).toEqual({ "a+b.txt": "x" });
  await putOdd(store, `t${round}/q/a b.txt`);
  await does(["cp", `${at}/q`, join(here, "q")]);
  expect(tree(join(here, "q"))).toEqual({ "a b.txt": "x" });
});
