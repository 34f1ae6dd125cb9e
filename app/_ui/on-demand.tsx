"use client";
import { useEffect, useState, type ComponentType, type ReactNode } from "react";

type Load<Props> = () => Promise<ComponentType<Props>>;
type Part<Props> = { component: ComponentType<Props> } | { failure: unknown };
type StandIn<Props> = (props: Props) => ReactNode;

const NOTHING = () => null;

/**
 * A part of a page that is loaded when it is first shown: dialogs, what stands further down, and pages that few see.
 * Meanwhile the stand-in holds its place; where nothing would move, none is needed. One that could not be loaded throws, for
 * the page's boundary to say, and is asked for again when it is shown again.
 */
export function onDemand<Props extends object>(load: Load<Props>, standIn: StandIn<Props> = NOTHING): StandIn<Props> {
  return loadedPart({ load, standIn, early: null });
}

/**
 * The same for what every visitor of a page sees: on its way as soon as the page's own script runs, while the hub is asked
 * who this is and for what is to be shown. One that could not be loaded then is tried again when it is shown.
 */
export function onItsWay<Props extends object>(load: Load<Props>, standIn: StandIn<Props> = NOTHING): StandIn<Props> {
  return loadedPart({ load, standIn, early: typeof window === "undefined" ? null : load() });
}

interface Loading<Props> {
  load: Load<Props>;
  standIn: StandIn<Props>;
  /** What is on its way already. */
  early: Promise<ComponentType<Props>> | null;
}

/**
 * Not `React.lazy`: that shows its stand-in for 300 ms at least (React holds back what a boundary reveals soon after
 * another one), also where the part came long before; parts within parts add up to half a second.
 */
function loadedPart<Props extends object>({ early, load, standIn }: Loading<Props>): StandIn<Props> {
  let kept: ComponentType<Props> | null = null;
  const keep = (component: ComponentType<Props>) => (kept = component);
  const coming = early?.then(keep).catch(() => null);
  return function LoadedPart(props) {
    const [part, setPart] = useState<Part<Props> | null>(kept === null ? null : { component: kept });
    useEffect(() => {
      if (part !== null) return undefined;
      let shown = true;
      const get = async () => (await coming) ?? keep(await load());
      get().then(
        (component) => shown && setPart({ component }),
        (failure: unknown) => shown && setPart({ failure }),
      );
      return () => {
        shown = false;
      };
    }, [part]);
    if (part === null) return standIn(props);
    if ("failure" in part) throw part.failure;
    const Loaded = part.component;
    return <Loaded {...props} />;
  };
}
