import { expect, test } from "vitest";
import { attributesOf, fileAttributes, folderModesOf, modesOf } from "./file-attributes.ts";

test("modes of files and folders are recorded as the usual one and those that differ", () => {
  const folders = new Map(Object.entries({ "": 0o750, a: 0o755, "a/b": 0o755, c: 0o500 }));
  const attributes = fileAttributes.parse(attributesOf([0o644, 0o600, undefined, 0o644], ["c"], folders));
  expect(attributes).toEqual({
    mode: 0o644,
    others: [[1, 0o600]],
    emptyFolders: ["c"],
    folders: {
      mode: 0o755,
      others: [
        ["", 0o750],
        ["c", 0o500],
      ],
    },
  });
  expect([0, 1, 2].map(modesOf(attributes))).toEqual([0o644, 0o600, 0o644]);
  expect([...folders.keys()].map((path) => folderModesOf(attributes)?.(path))).toEqual([...folders.values()]);
});

test("attributes of an older worker say nothing of folders, and files without a folder record none", () => {
  const older = fileAttributes.parse({ mode: 0o644, others: [], emptyFolders: [] });
  expect(folderModesOf(older)).toBeNull();
  expect(attributesOf([0o644], [])).toEqual(older);
  expect(attributesOf([undefined], [])).toBeNull();
});

test("a folder whose name cannot be recorded has the usual mode", () => {
  const attributes = attributesOf([], [], new Map(Object.entries({ "": 0o755, a: 0o755, "b\u0007": 0o700 })));
  expect(attributes?.folders).toEqual({ mode: 0o755, others: [] });
});
