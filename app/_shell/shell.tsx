"use client";
import { Search } from "lucide-react";
import { Fragment, useState, type ReactNode } from "react";
import { useSizeUnit, useTimeZone } from "../_hub/preferences/choices.ts";
import { useLiveState } from "../_hub/live/live.tsx";
import { Key } from "../_ui/controls/button.tsx";
import { GoingProvider, useGo, useGoingTo } from "../_ui/navigation/going.tsx";
import { Skeleton, SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { DialogsProvider } from "./dialogs.tsx";
import { useKeys } from "./keys.ts";
import { LivePill } from "./live-pill.tsx";
import { BottomNav, SideNav } from "./nav.tsx";
import { onDemand, onItsWay } from "../_ui/loading/on-demand.tsx";

const Crumbs = onItsWay(() => import("./crumbs.tsx").then((module) => module.Crumbs));
// Loaded ahead, because it is needed when the hub cannot be reached.
const SilentBanner = onItsWay(() => import("./silent-banner.tsx").then((module) => module.SilentBanner));
const Background = onDemand(() => import("./background.tsx").then((module) => module.Background));
const Palette = onDemand(() => import("./palette.tsx").then((module) => module.Palette));
const KeyHelp = onDemand(() => import("./key-help.tsx").then((module) => module.KeyHelp));

const FRAME =
  "grid min-h-dvh grid-cols-[minmax(0,1fr)] md:grid-cols-[56px_minmax(0,1fr)] lg:grid-cols-[208px_minmax(0,1fr)]";

/** Frames every page after sign-in: navigation at the side, position and live state at the top. */
export function Shell({ children }: { children: ReactNode }) {
  return (
    <GoingProvider>
      <Frame>{children}</Frame>
    </GoingProvider>
  );
}

function Frame({ children }: { children: ReactNode }) {
  const [over, setOver] = useState<"palette" | "keys" | null>(null);
  const go = useGo();
  useKeys({
    over,
    onPalette: () => setOver("palette"),
    onHelp: () => setOver("keys"),
    onGo: (path) => go?.(path),
  });
  const state = useLiveState();
  // Sizes and times are formatted outside of React, so a change of unit or zone remounts the page.
  const words = `${useSizeUnit()} ${useTimeZone()}`;
  return (
    <DialogsProvider>
      <a
        href="#content"
        className="fixed top-2 left-2 z-[90] -translate-y-16 rounded-md border border-line bg-panel px-3 py-2 focus:translate-y-0"
      >
        Skip to content
      </a>
      <div className={FRAME}>
        <SideNav />
        <div className="flex min-w-0 flex-col max-md:pb-20">
          <header className="sticky top-0 z-20 flex h-12 items-center gap-4 border-b border-line bg-bg px-4 md:px-6">
            <Crumbs />
            <button
              type="button"
              onClick={() => setOver("palette")}
              aria-label="Find a node, run, key or action"
              className="ml-auto flex h-[34px] items-center gap-2 rounded-md border border-line bg-panel px-2.5 text-faint hover:border-edge md:w-[300px]"
            >
              <Search size={14} aria-hidden />
              <span className="whitespace-nowrap max-md:hidden">Find a node, run, key or action</span>
              <span className="ml-auto max-md:hidden">
                <Key>Ctrl K</Key>
              </span>
            </button>
            <LivePill />
          </header>
          <Content state={state}>
            {state === "stale" && <SilentBanner />}
            <Fragment key={words}>{children}</Fragment>
          </Content>
        </div>
        <BottomNav />
      </div>
      <Background />
      {over === "palette" && <Palette onClose={() => setOver(null)} onHelp={() => setOver("keys")} />}
      {over === "keys" && <KeyHelp onClose={() => setOver(null)} />}
    </DialogsProvider>
  );
}

/** Shows the page itself. During a navigation it is dimmed, and a progress line runs below the header. */
function Content({ state, children }: { state: ReturnType<typeof useLiveState>; children: ReactNode }) {
  const isGoing = useGoingTo() !== null;
  return (
    <>
      {isGoing && (
        <div className="fixed inset-x-0 top-12 z-20 h-0.5 bg-accent/20">
          <progress aria-label="Opening the page" className="sr-only" />
          <div className="h-full w-1/3 animate-[going_1s_ease-in-out_infinite_alternate] bg-accent" />
        </div>
      )}
      <main
        id="content"
        tabIndex={-1}
        aria-busy={isGoing}
        data-stale={state === "stale"}
        className="mx-auto flex w-full max-w-[1720px] flex-col gap-5 p-4 outline-none transition-opacity duration-150 aria-busy:opacity-50 md:p-6"
      >
        {children}
      </main>
    </>
  );
}

/** Fills the page until it is known who is signed in. */
export function ShellSkeleton() {
  return (
    <output className={FRAME} aria-label="Loading">
      <div className="border-r border-line bg-sunk max-md:hidden" />
      <div className="flex flex-col gap-5 p-4 pt-[72px] md:p-6 md:pt-[72px]">
        <Skeleton className="h-8 w-3/5" />
        <Skeleton className="h-4 w-2/5" />
        <div className="rounded-2 border border-line bg-panel">
          <SkeletonRows rows={6} />
        </div>
      </div>
    </output>
  );
}
