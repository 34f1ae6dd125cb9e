"use client";
import { useEffect, useState, useSyncExternalStore } from "react";
import { hub } from "../../_hub/queries/client.ts";
import { createFolder, type Folder, type FolderState } from "./folder.ts";

/** Returns the folder at `prefix` as a list that loads while scrolling. A new `turn` loads it again. */
export function useFolder(at: { profileId: string; prefix: string; turn: number }): {
  folder: Folder;
  state: FolderState;
} {
  const { profileId, prefix, turn } = at;
  const name = JSON.stringify([profileId, prefix, turn]);
  const make = (): { name: string; folder: Folder } => ({
    name,
    folder: createFolder(({ signal, ...asked }) => hub.bucket.list.query({ profileId, prefix, ...asked }, { signal })),
  });
  const [made, setMade] = useState(make);
  if (made.name !== name) setMade(make());
  const { folder } = made;
  useEffect(() => {
    folder.need(0, 40);
    return () => folder.close();
  }, [folder]);
  const state = useSyncExternalStore(folder.subscribe, folder.state, folder.state);
  return { folder, state };
}
