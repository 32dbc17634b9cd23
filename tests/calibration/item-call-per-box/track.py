def match(self, boxes, tracks):            # boxes: cuda tensor [N, 6], N ~ 100
    iou = box_iou(boxes[:, :4], tracks.xyxy)
    out = []
    for i in range(boxes.shape[0]):
        j = int(iou[i].argmax())
        if iou[i, j].item() > self.thr and boxes[i, 4].item() > self.conf:
            out.append((i, j))
    return out
