"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { loadAhead } from "../../_ui/loading/load-ahead.ts";
import { hub } from "../queries/client.ts";
import { liveStore } from "./live-store.ts";
import { createRefresh } from "./refresh-topics.ts";

// Loads while the session query is in progress.
const script = loadAhead(() => import("./live-link.ts"));

/** Keeps this tab connected to the browser's shared stream while somebody is signed in; null disconnects it. */
export function useLiveLink(personId: string | null): void {
  const client = useQueryClient();
  useEffect(() => {
    if (personId === null) return undefined;
    let stop = () => {};
    let isOver = false;
    const open = async () => {
      const { LiveLink } = await script.get();
      if (isOver) return;
      const link = new LiveLink({
        store: liveStore,
        watch: (watching) => hub.live.watch.subscribe(undefined, watching),
        onStale: createRefresh(client),
        onSignedOut: () => void client.invalidateQueries({ queryKey: ["account"] }),
      });
      link.start();
      stop = () => link.stop();
    };
    // Without the script the page reports that it is not live.
    open().catch(() => liveStore.setLink("lost"));
    return () => {
      isOver = true;
      stop();
    };
  }, [personId, client]);
}
