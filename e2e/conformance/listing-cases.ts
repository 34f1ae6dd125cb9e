import { ListObjectsCommand, ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect } from "vitest";
import type { Case, CaseContext } from "./case.ts";

async function fill(context: CaseContext, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await context.client.send(
      new PutObjectCommand({ Bucket: context.bucket, Key: context.prefix + name, Body: name.slice(0, 3) }),
    );
  }
}

type Listed = { readonly keys: readonly string[]; readonly prefixes: readonly string[]; readonly pages: number };

/** Lists everything under the case's prefix, page by page; names come back without it. */
async function listAll(
  context: CaseContext,
  asked: {
    readonly Delimiter?: string;
    readonly MaxKeys?: number;
    readonly StartAfter?: string;
    readonly under?: string;
  },
): Promise<Listed> {
  const { under = "", ...rest } = asked;
  const strip = (name: string | undefined): string => (name ?? "").slice(context.prefix.length);
  const keys: string[] = [];
  const prefixes: string[] = [];
  let pages = 0;
  let token: string | undefined;
  do {
    const page = await context.client.send(
      new ListObjectsV2Command({
        Bucket: context.bucket,
        Prefix: context.prefix + under,
        ContinuationToken: token,
        ...rest,
      }),
    );
    const found = (page.Contents ?? []).map((entry) => strip(entry.Key));
    const common = (page.CommonPrefixes ?? []).map((entry) => strip(entry.Prefix));
    expect(page.KeyCount).toBe(found.length + common.length);
    expect(found.length + common.length).toBeLessThanOrEqual(rest.MaxKeys ?? 1000);
    keys.push(...found);
    prefixes.push(...common);
    pages += 1;
    token = page.NextContinuationToken;
    expect(page.IsTruncated).toBe(token !== undefined);
  } while (token !== undefined && pages < 100);
  return { keys, prefixes, pages };
}

const byBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));

export const LISTING_CASES: readonly Case[] = [
  {
    name: "a listing has every key once, in the order of their UTF-8 bytes",
    async run(context) {
      const names = ["b", "a", "B", "é", "z", "~", "a-b", "a.b", "文", "0", "🌊", "\uFFEEx"];
      await fill(context, names);
      const { keys } = await listAll(context, {});
      expect(keys).toEqual(names.toSorted(byBytes));
    },
  },
  {
    name: "pages join without a gap or a repeat",
    async run(context) {
      const names = Array.from({ length: 25 }, (_, index) => `k${String(index).padStart(3, "0")}`);
      await fill(context, names);
      const { keys, pages } = await listAll(context, { MaxKeys: 7 });
      expect(keys).toEqual(names);
      expect(pages).toBe(4);
    },
  },
  {
    name: "a delimiter folds keys into common prefixes, also across pages",
    async run(context) {
      await fill(context, ["a/1", "a/2", "a/3", "b", "c/x/1", "c/x/2", "c/y", "d"]);
      const whole = await listAll(context, { Delimiter: "/" });
      expect(whole.keys).toEqual(["b", "d"]);
      expect(whole.prefixes).toEqual(["a/", "c/"]);
      const paged = await listAll(context, { Delimiter: "/", MaxKeys: 1 });
      expect(paged.keys).toEqual(["b", "d"]);
      expect(paged.prefixes).toEqual(["a/", "c/"]);
      const deeper = await listAll(context, { Delimiter: "/", under: "c/" });
      expect(deeper.keys).toEqual(["c/y"]);
      expect(deeper.prefixes).toEqual(["c/x/"]);
    },
  },
  {
    name: "start-after leaves out everything up to the key",
    async run(context) {
      await fill(context, ["s1", "s2", "s3", "s4"]);
      const { keys } = await listAll(context, { StartAfter: `${context.prefix}s2` });
      expect(keys).toEqual(["s3", "s4"]);
    },
  },
  {
    name: "a prefix without keys gives an empty listing, not an error",
    async run(context) {
      const { keys, prefixes, pages } = await listAll(context, { under: "nothing/here/" });
      expect({ keys, prefixes, pages }).toEqual({ keys: [], prefixes: [], pages: 1 });
    },
  },
  {
    name: "a listing shows size, ETag and time as HEAD does",
    async run(context) {
      const body = Buffer.alloc(4321, 1);
      const key = `${context.prefix}described`;
      const stored = await context.client.send(new PutObjectCommand({ Bucket: context.bucket, Key: key, Body: body }));
      const page = await context.client.send(new ListObjectsV2Command({ Bucket: context.bucket, Prefix: key }));
      expect(page.Contents?.[0]?.Size).toBe(4321);
      expect(page.Contents?.[0]?.ETag).toBe(stored.ETag);
      expect(Math.abs((page.Contents?.[0]?.LastModified?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    },
  },
  {
    name: "encoding-type=url makes odd names safe to carry",
    differs: { versitygw: "ignores encoding-type" },
    async run(context) {
      await fill(context, ["odd name+1%&<ü>"]);
      const page = await context.client.send(
        new ListObjectsV2Command({ Bucket: context.bucket, Prefix: context.prefix, EncodingType: "url" }),
      );
      expect(page.EncodingType).toBe("url");
      const raw = page.Contents?.[0]?.Key ?? "";
      expect(raw).not.toContain("<");
      expect(decodeURIComponent(raw.replaceAll("+", "%20"))).toBe(`${context.prefix}odd name+1%&<ü>`);
    },
  },
  {
    name: "the older listing pages by marker",
    async run(context) {
      await fill(context, ["v1", "v2", "v3"]);
      const asked = { Bucket: context.bucket, Prefix: context.prefix, MaxKeys: 2 };
      const first = await context.client.send(new ListObjectsCommand(asked));
      expect(first.IsTruncated).toBe(true);
      const marker = first.NextMarker ?? first.Contents?.at(-1)?.Key;
      const second = await context.client.send(new ListObjectsCommand({ ...asked, Marker: marker }));
      const names = [...(first.Contents ?? []), ...(second.Contents ?? [])].map((entry) => entry.Key);
      expect(names).toEqual(["v1", "v2", "v3"].map((name) => context.prefix + name));
      expect(second.IsTruncated).toBe(false);
    },
  },
];
