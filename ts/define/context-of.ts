/** Context types of a definition, for helper functions: `ActionContextOf<typeof room>`. */
import type { ActionContext, ActorContext, Conn, CreateContext } from "../context/types";
import type { ActorDefinition, AnyActorDefinition } from "./types";

export type ActorContextOf<AD extends AnyActorDefinition> =
  AD extends ActorDefinition<infer S, infer CP, infer CS, infer V, infer I, infer DB, infer E, infer Q, any>
    ? ActorContext<S, CP, CS, V, I, DB, E, Q>
    : never;

export type ActionContextOf<AD extends AnyActorDefinition> =
  AD extends ActorDefinition<infer S, infer CP, infer CS, infer V, infer I, infer DB, infer E, infer Q, any>
    ? ActionContext<S, CP, CS, V, I, DB, E, Q>
    : never;

export type CreateContextOf<AD extends AnyActorDefinition> =
  AD extends ActorDefinition<infer S, any, any, any, infer I, infer DB, infer E, infer Q, any>
    ? CreateContext<S, I, DB, E, Q>
    : never;

/** The connection type of a definition. */
export type ConnContextOf<AD extends AnyActorDefinition> =
  AD extends ActorDefinition<any, infer CP, infer CS, any, any, any, infer E, any, any> ? Conn<CP, CS, E> : never;
