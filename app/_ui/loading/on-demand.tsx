"use client";
import { useEffect, useState, type ComponentType, type ReactNode } from "react";
import { loadAhead, loadLater, type Loading } from "./load-ahead.ts";

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
  return loadedPart(loadLater(load), standIn);
}

/**
 * The same for what every visitor of a page sees: on its way as soon as the page's own script runs, while the hub is asked
 * who this is and for what is to be shown. One that could not be loaded then is tried again when it is shown.
 */
export function onItsWay<Props extends object>(load: Load<Props>, standIn: StandIn<Props> = NOTHING): StandIn<Props> {
  return loadedPart(loadAhead(load), standIn);
}

/**
 * Not `React.lazy`: that shows its stand-in for 300 ms at least (React holds back what a boundary reveals soon after
 * another one), also where the part came long before; parts within parts add up to half a second.
 */
function loadedPart<Props extends object>(
  { now, get }: Loading<ComponentType<Props>>,
  standIn: StandIn<Props>,
): StandIn<Props> {
  return function LoadedPart(props) {
    const [part, setPart] = useState<Part<Props> | null>(() => {
      const component = now();
      return component === null ? null : { component };
    });
    useEffect(() => {
      if (part !== null) return undefined;
      let shown = true;
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
