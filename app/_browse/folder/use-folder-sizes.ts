"use client";
import { useEffect, useState, useSyncExternalStore } from "react";
import { hub } from "../../_hub/queries/client.ts";
import { createFolderSizes, type FolderSize, type FolderSizes } from "./folder-sizes.ts";

/** Returns the folder sizes of one list. A new `turn` counts them again. */
export function useFolderSizes(at: { profileId: string; turn: number }): {
  sizes: FolderSizes;
  sizeOf: (folder: string) => FolderSize | null;
} {
  const { profileId, turn } = at;
  const name = JSON.stringify([profileId, turn]);
  const make = (): { name: string; sizes: FolderSizes } => ({
    name,
    sizes: createFolderSizes(({ signal, ...asked }) =>
      hub.bucket.walk.query({ profileId, words: "", ...asked }, { signal }),
    ),
  });
  const [made, setMade] = useState(make);
  if (made.name !== name) setMade(make());
  const { sizes } = made;
  useEffect(() => () => sizes.close(), [sizes]);
  return { sizes, sizeOf: useSyncExternalStore(sizes.subscribe, sizes.state, sizes.state) };
}
