import { expect, it } from "vitest";
import { sameBucket } from "./same-bucket.ts";

const place = { endpoint: "https://s3.example.com", bucket: "b", prefix: "a/" };
const there = [{ profile: { ...place, name: "first" } }];

it("tells of a profile with the same bucket and prefix, and of one whose prefix overlaps", () => {
  expect(sameBucket(place, there)?.title).toBe("first has this bucket and prefix already.");
  expect(sameBucket({ ...place, prefix: "a/b/" }, there)?.title).toContain("overlaps with that of first");
  expect(sameBucket({ ...place, prefix: "" }, there)?.title).toContain("overlaps");
});

it("says nothing of another folder, bucket or store", () => {
  expect(sameBucket({ ...place, prefix: "ab/" }, there)).toBeNull();
  expect(sameBucket({ ...place, bucket: "c" }, there)).toBeNull();
  expect(sameBucket({ ...place, endpoint: "https://s3.example.org" }, there)).toBeNull();
});
