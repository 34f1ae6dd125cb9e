import { expect, test } from "vitest";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import { emptyForm, readForm, withImport, withPlace, withPreset } from "./profile-draft.ts";

const r2: PresetView = {
  provider: "r2",
  label: "Cloudflare R2",
  endpointTemplate: "https://{account}.r2.cloudflarestorage.com",
  regionHint: "auto",
  defaultRegion: "auto",
  addressing: "path",
  egress: "none",
  prices: null,
  temporaryKeys: null,
  note: "",
};
const aws: PresetView = {
  ...r2,
  provider: "aws",
  endpointTemplate: "https://s3.{region}.amazonaws.com",
  defaultRegion: "us-east-1",
  addressing: "virtual-host",
};

const filled = {
  ...withPlace(emptyForm(r2), { account: "abc123" }, r2),
  name: "training",
  bucket: "training-eu",
  accessKeyId: "k",
  secretAccessKey: "s",
};

test("a filled form becomes what the hub takes", () => {
  const read = readForm({ ...filled, prefix: "team-a" });
  expect(read).toMatchObject({
    ok: true,
    profile: { endpoint: "https://abc123.r2.cloudflarestorage.com", prefix: "team-a/", workerEndpoint: null },
    credential: { accessKeyId: "k" },
  });
});

test("an open account is asked for at the account, not at the endpoint", () => {
  const read = readForm({ ...filled, endpoint: "https://{account}.r2.cloudflarestorage.com" });
  expect(read.ok).toBe(false);
  if (!read.ok) expect(Object.keys(read.errors)).toEqual(["account"]);
});

test("each wrong field gets its own sentence", () => {
  const read = readForm({ ...filled, bucket: "UPPER", name: " ", secretAccessKey: "", endpoint: "ftp://x" });
  expect(read.ok).toBe(false);
  if (!read.ok) expect(Object.keys(read.errors).sort()).toEqual(["bucket", "endpoint", "name", "secretAccessKey"]);
});

test("a kept key is not asked for and not sent", () => {
  const read = readForm({ ...filled, keepKey: true, accessKeyId: "", secretAccessKey: "" });
  expect(read).toMatchObject({ ok: true, credential: null });
});

test("an endpoint typed by hand is not overwritten by the region", () => {
  const typed = { ...emptyForm(aws), endpoint: "https://minio.local", endpointTyped: true };
  expect(withPlace(typed, { region: "eu-west-1" }, aws).endpoint).toBe("https://minio.local");
  expect(withPlace(emptyForm(aws), { region: "eu-west-1" }, aws).endpoint).toBe("https://s3.eu-west-1.amazonaws.com");
});

test("a pasted store fills the form, and its key is named and not typed", () => {
  const draft = {
    from: "wasabi",
    profile: {
      name: "wasabi",
      provider: "wasabi",
      bucket: null,
      region: "eu-central-1",
      prefix: "",
      endpoint: "https://s3.eu-central-1.wasabisys.com",
      workerEndpoint: null,
      browserEndpoint: null,
      addressing: "path",
    },
    accessKeyHint: "Y123",
    problems: [],
  } as const;
  const key = { handle: "handle-0001", index: 2 };
  const form = withImport({ ...filled, name: "", secretAccessKey: "" }, { ...draft, problems: [] }, key);
  expect(form).toMatchObject({ name: "wasabi", bucket: "training-eu", imported: { ...key, hint: "Y123" } });
  expect(readForm(form)).toMatchObject({
    ok: true,
    profile: { provider: "wasabi", endpoint: "https://s3.eu-central-1.wasabisys.com" },
    credential: key,
  });
});

test("prices are numbers or nothing, with a point or a comma", () => {
  expect(readForm(filled)).toMatchObject({ ok: true, about: { notes: "", prices: null } });
  expect(readForm({ ...filled, egressPerGb: "0,09", notes: " a " })).toMatchObject({
    ok: true,
    about: { notes: "a", prices: { egressPerGb: 0.09, storagePerGbMonth: null, per1000Requests: null } },
  });
  const wrong = readForm({ ...filled, storagePerGbMonth: "cheap" });
  expect(wrong).toEqual({ ok: false, errors: { storagePerGbMonth: "a price is a number, for example 0.09" } });
});

test("the threshold of packs is a whole number of KiB, and 0 says that nothing is packed", () => {
  expect(readForm(filled)).toMatchObject({ ok: true, about: { packing: { belowBytes: 262_144, zstd: false } } });
  const none = readForm({ ...filled, packBelow: "0", packZstd: true });
  expect(none).toMatchObject({ ok: true, about: { packing: { belowBytes: 0, zstd: true } } });
  const why = { ok: false, errors: { packBelow: "a whole number of KiB from 0 to 4096" } };
  for (const packBelow of ["", "-1", "1.5", "4097", "many"]) expect(readForm({ ...filled, packBelow })).toEqual(why);
});

test("a part size and connections are whole numbers, and nothing leaves the choice to Tidemark", () => {
  expect(readForm(filled)).toMatchObject({ ok: true, about: { tuning: { partBytes: null, connections: null } } });
  const set = readForm({ ...filled, tunePart: "64", tuneConnections: "96" });
  expect(set).toMatchObject({ ok: true, about: { tuning: { partBytes: 67_108_864, connections: 96 } } });
  for (const tunePart of ["4", "1025", "many"]) {
    const why = { tunePart: "a whole number of MiB from 5 to 1,024" };
    expect(readForm({ ...filled, tunePart })).toEqual({ ok: false, errors: why });
  }
  for (const tuneConnections of ["0", "97", "1.5"]) {
    const why = { tuneConnections: "a whole number from 1 to 96" };
    expect(readForm({ ...filled, tuneConnections })).toEqual({ ok: false, errors: why });
  }
});

test("another provider brings its endpoint, region and addressing and keeps the names", () => {
  expect(withPreset(filled, aws)).toMatchObject({
    name: "training",
    region: "us-east-1",
    addressing: "virtual-host",
    endpoint: "https://s3.us-east-1.amazonaws.com",
  });
});
