"""The public Python SDK of A2A 0.3, as it comes, against a running service: witness.py URL TRANSPORT TASK.

Does the same as ../go/main.go and prints what it saw as one JSON object. The task is one of somebody else.
"""

import asyncio
import base64
import json
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    FilePart,
    FileWithBytes,
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskStatusUpdateEvent,
    TextPart,
)

EVERY_BYTE = base64.b64encode(bytes(range(256))).decode()


def text(words):
    return Part(root=TextPart(text=words))


def says(*parts, **more):
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=list(parts), **more)


async def last(events):
    """The task, or the Message, that a send ends with."""
    result = None
    async for event in events:
        result = event if isinstance(event, Message) else event[0]
    return result


async def states(events, began=None):
    """The state of each status, as it comes; `began` is told of the first one."""
    seen = []
    async for task, update in events:
        if update is None or isinstance(update, TaskStatusUpdateEvent):
            seen.append((update or task).status.state.value)
            if began:
                began.set()
    return seen


async def refusal(call):
    try:
        await call
    except Exception as error:  # Each transport has its own kinds of errors.
        return type(error).__name__
    return None


def files(task):
    parts = task.artifacts[0].parts
    return [part.root.file.bytes for part in parts if isinstance(part.root, FilePart)]


async def main(url, transport, theirs):
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, f'{url}/agents/echo').get_agent_card()
        settings = dict(
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_transports=[transport],
            use_client_preference=True,
        )
        client = ClientFactory(ClientConfig(streaming=False, **settings)).create(card)
        streaming = ClientFactory(ClientConfig(streaming=True, **settings)).create(card)
        at_once = ClientFactory(ClientConfig(streaming=False, polling=True, **settings)).create(card)

        done = await last(client.send_message(says(text('hello'))))
        read = await client.get_task(TaskQueryParams(id=done.id))
        streamed = await states(streaming.send_message(says(text('chunks 3'))))
        direct = await last(client.send_message(says(text('message hi'))))
        asked = await last(client.send_message(says(text('ask'))))
        answer = says(text('blue'), task_id=asked.id, context_id=asked.context_id)
        answered = await last(client.send_message(answer))
        file = FilePart(file=FileWithBytes(bytes=EVERY_BYTE, mime_type='application/octet-stream', name='all'))
        filed = await last(client.send_message(says(Part(root=file))))
        referring = await last(client.send_message(says(text('hello'), reference_task_ids=[done.id])))
        long = await last(at_once.send_message(says(text('sleep 60000'))))
        began = asyncio.Event()
        following = asyncio.create_task(states(streaming.resubscribe(TaskIdParams(id=long.id)), began))
        await began.wait()
        cancelled = await client.cancel_task(TaskIdParams(id=long.id))
        hook = PushNotificationConfig(id='hook', url='https://hook.example/a', token='secret')
        await client.set_task_callback(
            TaskPushNotificationConfig(task_id=done.id, push_notification_config=hook)
        )
        config = await client.get_task_callback(
            GetTaskPushNotificationConfigParams(id=done.id, push_notification_config_id='hook')
        )
        found = await client.get_task(TaskQueryParams(id=theirs))
        return {
            'done': [done.status.state.value, done.artifacts[0].parts[0].root.text],
            'read': [read.status.state.value, read.artifacts[0].parts[0].root.text],
            'streamed': streamed,
            'direct': direct.parts[0].root.text,
            'asked': asked.status.state.value,
            'answered': answered.status.state.value,
            'file': {'task': filed.id, 'isWhole': files(filed) == [EVERY_BYTE]},
            'referring': (await client.get_task(TaskQueryParams(id=referring.id))).status.state.value,
            'cancelled': cancelled.status.state.value,
            'followed': (await following)[-1],
            'push': [config.task_id == done.id, config.push_notification_config.url],
            'theirs': [part.root.kind for part in found.history[0].parts],
            'unknown': await refusal(client.get_task(TaskQueryParams(id=str(uuid.uuid4())))) is not None,
            'tooLate': await refusal(client.cancel_task(TaskIdParams(id=done.id))) is not None,
        }


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
