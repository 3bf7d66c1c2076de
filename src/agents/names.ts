// The names alone, apart from the registry: the CLI lists them in its help without loading a single parser.

/** The agents that Baton knows by itself, in the order in which they are listed. */
export const agentNames = ['claude', 'codex', 'pi', 'gemini', 'opencode'] as const

export type BuiltInName = (typeof agentNames)[number]

/** One of these, or the name that an agent was registered with. */
export type AgentName = string
