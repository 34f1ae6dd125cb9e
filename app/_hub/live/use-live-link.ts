"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { loadAhead } from "../../_ui/loading/load-ahead.ts";
import { hub } from "../queries/client.ts";
import { liveStore } from "./live-store.ts";
import { createRefresh } from "./refresh-topics.ts";

// On its way while the hub is asked who this is.
const script = loadAhead(() => import("./live-link.ts"));

/** Keeps this page's part of the browser's one stream while somebody is signed in; null closes it. */
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
    // Without it the page says that it is not live.
    open().catch(() => liveStore.setLink("lost"));
    return () => {
      isOver = true;
      stop();
    };
  }, [personId, client]);
}
