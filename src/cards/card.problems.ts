import { type DescField, getOption } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import {
  type AgentCard,
  AgentCardSchema,
  FieldBehavior,
  field_behavior,
  type SecurityRequirement,
} from '../protocol/index.js';

const MEDIA_TYPE = /^[\w.+*-]+\/[\w.+*-]+$/;

/**
 * Everything that keeps a card from being published: REQUIRED fields and lists that are empty (the
 * descriptor tells which), and what the descriptor cannot tell. Empty for a good card.
 */
export function cardProblems(card: AgentCard): string[] {
  return [
    ...emptyFields(reflect(AgentCardSchema, card), ''),
    ...badMediaTypes(card),
    ...doubledSkills(card),
    ...badExtensions(card),
    ...badSecurity(card),
  ];
}

function* emptyFields(message: ReflectMessage, at: string): Iterable<string> {
  for (const field of message.fields) {
    const path = at + field.jsonName;
    if (isRequired(field) && !message.isSet(field)) yield `${path} is required and is empty`;
    for (const [child, childPath] of messagesIn(message, field, path))
      yield* emptyFields(child, `${childPath}.`);
  }
}

/** A map of OAuth scopes may well have no entry. */
const isRequired = (field: DescField) =>
  field.fieldKind !== 'map' && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);

function* messagesIn(
  message: ReflectMessage,
  field: DescField,
  path: string,
): Iterable<[ReflectMessage, string]> {
  if (!message.isSet(field)) return;
  if (field.fieldKind === 'message') yield [message.get(field), path];
  if (field.fieldKind === 'list' && field.listKind === 'message') {
    for (const [index, item] of [...message.get(field)].entries())
      yield [item as ReflectMessage, `${path}[${index}]`];
  }
  if (field.fieldKind === 'map' && field.mapKind === 'message') {
    for (const [key, value] of message.get(field)) yield [value as ReflectMessage, `${path}.${String(key)}`];
  }
}

function* badMediaTypes(card: AgentCard): Iterable<string> {
  const modes = { defaultInputModes: card.defaultInputModes, defaultOutputModes: card.defaultOutputModes };
  const places = [
    modes,
    ...card.skills.map(({ id, inputModes, outputModes }) => ({
      [`skill ${id}: inputModes`]: inputModes,
      [`skill ${id}: outputModes`]: outputModes,
    })),
  ];
  for (const [place, types] of places.flatMap((p) => Object.entries(p))) {
    for (const type of types)
      if (!MEDIA_TYPE.test(type)) yield `${place} has "${type}", which is no media type`;
  }
}

function* doubledSkills({ skills }: AgentCard): Iterable<string> {
  const ids = skills.map(({ id }) => id);
  for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index)))
    yield `two skills have the id "${id}"`;
}

function* badExtensions({ capabilities }: AgentCard): Iterable<string> {
  for (const { uri } of capabilities?.extensions ?? []) {
    if (!URL.canParse(uri)) yield `capabilities.extensions has "${uri}", which is no URI`;
  }
}

/** Requirements name declared schemes; the OAuth flows that 1.0 deprecates are not published. */
function* badSecurity(card: AgentCard): Iterable<string> {
  const requirements: SecurityRequirement[] = [
    ...card.securityRequirements,
    ...card.skills.flatMap((skill) => skill.securityRequirements),
  ];
  const named = new Set(requirements.flatMap(({ schemes }) => Object.keys(schemes)));
  for (const name of named) {
    if (!Object.hasOwn(card.securitySchemes, name))
      yield `the security scheme "${name}" is required but not declared`;
  }
  for (const [name, { scheme }] of Object.entries(card.securitySchemes)) {
    const flow = scheme.case === 'oauth2SecurityScheme' ? scheme.value.flows?.flow.case : undefined;
    if (flow === 'implicit' || flow === 'password')
      yield `securitySchemes.${name} uses the deprecated flow "${flow}"`;
  }
}
