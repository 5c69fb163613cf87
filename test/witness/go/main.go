// The public Go SDK of A2A 0.3, as it comes, against a running service: witness URL TRANSPORT TASK.
//
// Does the same as ../python/witness.py and prints what it saw as one JSON object. The task is one of somebody else.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"os"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var ctx = context.Background()

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func text(words string) a2a.Part { return a2a.TextPart{Text: words} }

func says(parts ...a2a.Part) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, parts...) }

func textOf(parts a2a.ContentParts) string { return parts[0].(a2a.TextPart).Text }

func kinds(parts a2a.ContentParts) []string {
	var names []string
	for _, part := range parts {
		switch part.(type) {
		case a2a.TextPart:
			names = append(names, "text")
		case a2a.FilePart:
			names = append(names, "file")
		case a2a.DataPart:
			names = append(names, "data")
		}
	}
	return names
}

type witness struct{ waiting, polling *a2aclient.Client }

func (w witness) send(message *a2a.Message) *a2a.Task {
	return must(w.waiting.SendMessage(ctx, &a2a.MessageSendParams{Message: message})).(*a2a.Task)
}

// states gives the state of each status, as it comes; began is told of the first one.
func states(events iter.Seq2[a2a.Event, error], began func()) []a2a.TaskState {
	var seen []a2a.TaskState
	for event, err := range events {
		switch event := must(event, err).(type) {
		case *a2a.Task:
			seen = append(seen, event.Status.State)
		case *a2a.TaskStatusUpdateEvent:
			seen = append(seen, event.Status.State)
		}
		if len(seen) == 1 {
			began()
		}
	}
	return seen
}

func run(url string, transport a2a.TransportProtocol, theirs a2a.TaskID) map[string]any {
	card := must(agentcard.DefaultResolver.Resolve(ctx, url+"/agents/echo"))
	connect := func(polling bool) *a2aclient.Client {
		config := a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{transport}, Polling: polling}
		plain := grpc.WithTransportCredentials(insecure.NewCredentials())
		return must(a2aclient.NewFromCard(ctx, card, a2aclient.WithConfig(config), a2aclient.WithGRPCTransport(plain)))
	}
	w := witness{waiting: connect(false), polling: connect(true)}

	done := w.send(says(text("hello")))
	read := must(w.waiting.GetTask(ctx, &a2a.TaskQueryParams{ID: done.ID}))
	chunks := &a2a.MessageSendParams{Message: says(text("chunks 3"))}
	streamed := states(w.waiting.SendStreamingMessage(ctx, chunks), func() {})
	direct := must(w.waiting.SendMessage(ctx, &a2a.MessageSendParams{Message: says(text("message hi"))})).(*a2a.Message)
	asked := w.send(says(text("ask")))
	answered := w.send(a2a.NewMessageForTask(a2a.MessageRoleUser, asked, text("blue")))

	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	sent := a2a.FileBytes{
		FileMeta: a2a.FileMeta{MimeType: "application/octet-stream", Name: "all"},
		Bytes:    base64.StdEncoding.EncodeToString(every),
	}
	filed := w.send(says(a2a.FilePart{File: sent}))
	got := filed.Artifacts[0].Parts[0].(a2a.FilePart).File.(a2a.FileBytes)

	referring := says(text("hello"))
	referring.ReferenceTasks = []a2a.TaskID{done.ID}
	referred := must(w.waiting.GetTask(ctx, &a2a.TaskQueryParams{ID: w.send(referring).ID}))

	sleep := &a2a.MessageSendParams{Message: says(text("sleep 60000"))}
	long := must(w.polling.SendMessage(ctx, sleep)).(*a2a.Task)
	began, followed := make(chan bool), make(chan []a2a.TaskState)
	go func() {
		events := w.waiting.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: long.ID})
		followed <- states(events, func() { close(began) })
	}()
	<-began
	cancelled := must(w.waiting.CancelTask(ctx, &a2a.TaskIDParams{ID: long.ID}))
	seen := <-followed

	hook := a2a.PushConfig{ID: "hook", URL: "https://hook.example/a", Token: "secret"}
	must(w.waiting.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: done.ID, Config: hook}))
	config := must(w.waiting.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigParams{TaskID: done.ID, ConfigID: "hook"}))
	found := must(w.waiting.GetTask(ctx, &a2a.TaskQueryParams{ID: theirs}))

	_, unknown := w.waiting.GetTask(ctx, &a2a.TaskQueryParams{ID: a2a.NewTaskID()})
	_, tooLate := w.waiting.CancelTask(ctx, &a2a.TaskIDParams{ID: done.ID})
	return map[string]any{
		"done":      []any{done.Status.State, textOf(done.Artifacts[0].Parts)},
		"read":      []any{read.Status.State, textOf(read.Artifacts[0].Parts)},
		"streamed":  streamed,
		"direct":    textOf(direct.Parts),
		"asked":     asked.Status.State,
		"answered":  answered.Status.State,
		"file":      map[string]any{"task": filed.ID, "isWhole": got.Bytes == sent.Bytes},
		"referring": referred.Status.State,
		"cancelled": cancelled.Status.State,
		"followed":  seen[len(seen)-1],
		"push":      []any{config.TaskID == done.ID, config.Config.URL},
		"theirs":    kinds(found.History[0].Parts),
		"unknown":   unknown != nil,
		"tooLate":   tooLate != nil,
	}
}

func main() {
	seen := run(os.Args[1], a2a.TransportProtocol(os.Args[2]), a2a.TaskID(os.Args[3]))
	fmt.Println(string(must(json.Marshal(seen))))
}
