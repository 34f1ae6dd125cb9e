"use client";
import { useEffect, useState, type ComponentType, type ReactNode } from "react";
import { loadAhead, loadLater, type Loading } from "./load-ahead.ts";

type Load<Props> = () => Promise<ComponentType<Props>>;
type Part<Props> = { component: ComponentType<Props> } | { failure: unknown };
type StandIn<Props> = (props: Props) => ReactNode;

const NOTHING = () => null;

/**
 * Loads a part of a page when it is first shown: dialogs, content further down, rarely visited pages. The stand-in reserves
 * its space meanwhile; where the layout would not shift, none is needed. A failed load throws, so that the page's error
 * boundary reports it; the next time the part is shown, loading is tried again.
 */
export function onDemand<Props extends object>(load: Load<Props>, standIn: StandIn<Props> = NOTHING): StandIn<Props> {
  return loadedPart(loadLater(load), standIn);
}

/**
 * Works as `onDemand`, for parts that every visitor of a page sees. Loading starts with the page's own script, in
 * parallel with the queries to the hub. A failed load is tried again when the part is shown.
 */
export function onItsWay<Props extends object>(load: Load<Props>, standIn: StandIn<Props> = NOTHING): StandIn<Props> {
  return loadedPart(loadAhead(load), standIn);
}

/**
 * Returns a component that shows the stand-in until the part is loaded. `React.lazy` would show it for at least 300 ms
 * even when the part has already arrived. React throttles consecutive reveals of boundaries, so nested parts would add
 * up to half a second.
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
