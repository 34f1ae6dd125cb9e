import { expect, test } from "vitest";
import { archiveStateOf, mayBeArchived } from "./storage-class.ts";

const KIB = 1024;

test.each([
  [null, KIB, false],
  ["STANDARD", 1_000 * KIB, false],
  ["GLACIER_IR", 1_000 * KIB, false],
  ["GLACIER", 1, true],
  ["DEEP_ARCHIVE", 1, true],
  ["INTELLIGENT_TIERING", 128 * KIB, true],
  // S3 never moves smaller ones to another tier.
  ["INTELLIGENT_TIERING", 128 * KIB - 1, false],
])("an object of class %s and %i bytes may be archived: %s", (storageClass, sizeBytes, expected) => {
  expect(mayBeArchived({ storageClass, sizeBytes })).toBe(expected);
});

const READY = 'ongoing-request="false", expiry-date="Fri, 21 Dec 2029 00:00:00 GMT"';

test.each([
  { title: "a plain object", storageClass: null, archiveStatus: null, restore: null, expected: "readable" },
  { title: "GLACIER_IR", storageClass: "GLACIER_IR", archiveStatus: null, restore: null, expected: "readable" },
  { title: "GLACIER", storageClass: "GLACIER", archiveStatus: null, restore: null, expected: "archived" },
  {
    title: "GLACIER that is being restored",
    storageClass: "GLACIER",
    archiveStatus: null,
    restore: 'ongoing-request="true"',
    expected: "being-restored",
  },
  {
    title: "GLACIER that has been restored",
    storageClass: "GLACIER",
    archiveStatus: null,
    restore: READY,
    expected: "readable",
  },
  {
    title: "DEEP_ARCHIVE with a header that says nothing",
    storageClass: "DEEP_ARCHIVE",
    archiveStatus: null,
    restore: "",
    expected: "archived",
  },
  {
    title: "INTELLIGENT_TIERING",
    storageClass: "INTELLIGENT_TIERING",
    archiveStatus: null,
    restore: null,
    expected: "readable",
  },
  {
    title: "an archive tier",
    storageClass: "INTELLIGENT_TIERING",
    archiveStatus: "ARCHIVE_ACCESS",
    restore: null,
    expected: "archived",
  },
  {
    title: "a deep archive tier",
    storageClass: "INTELLIGENT_TIERING",
    archiveStatus: "DEEP_ARCHIVE_ACCESS",
    restore: null,
    expected: "archived",
  },
  {
    title: "a tier that is left",
    storageClass: "INTELLIGENT_TIERING",
    archiveStatus: "ARCHIVE_ACCESS",
    restore: 'ongoing-request="true"',
    expected: "being-restored",
  },
])("$title is read from the headers", ({ expected, ...headers }) => {
  expect(archiveStateOf(headers)).toBe(expected);
});
